"""An array of a library that exchanges arrays by DLPack, on a device of one's choice, for tests without such a device."""

ANY = 12  # the number of a kind of device that PyTorch does not ask anything about
CUDA, CUDA_HOST = 2, 3


class Elsewhere:
    """The numbers of a tensor of the processor, said to be on a device of this number."""

    def __init__(self, tensor, number=ANY):
        self.tensor, self.number = tensor, number
        self.shape, self.dtype = tuple(tensor.shape), tensor.dtype

    def reshape(self, *shape):
        return Elsewhere(self.tensor.reshape(*shape), self.number)

    def __dlpack_device__(self):
        return self.number, 0

    def __dlpack__(self, **_):
        return self.tensor.__dlpack__()
