"""The library's own error and warning."""


class InputError(ValueError):
    """An argument cannot be used; the message names the argument, the value, the rule and the way out."""


class DependenceWarning(UserWarning):
    """A number is right but needs reading with care; the same sentence stands in the result's `warnings`."""
