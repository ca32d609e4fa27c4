"use strict";
// The table: a click on a heading sorts, a second one reverses the order; the filter hides rows.
const table = document.getElementById("ranking");
if (table) {
  table.classList.add("ready");
  const body = table.tBodies[0], rows = [...body.rows], heads = [...table.tHead.rows[0].cells];
  // "<0.001" is below 0.001
  const number = text => text === "inf" ? Infinity : parseFloat(text.replace(/[<,]/g, "")) * (text.startsWith("<") ? 0.999 : 1);
  const order = new Intl.Collator(undefined, {numeric: true}).compare;
  const missing = text => text === "-" || text === "";
  heads.forEach((head, k) => head.firstElementChild.addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") !== "ascending", side = up ? 1 : -1;
    const numeric = k === 0 || head.className === "n";
    const keyed = rows.map((row, place) => [row.cells[k].textContent.trim(), place, row]);
    keyed.sort(([a, i], [b, j]) => missing(a) || missing(b) ? missing(a) - missing(b) || i - j  // last in both directions
      : side * (numeric ? number(a) - number(b) : order(a, b)) || i - j);
    heads.forEach(other => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    body.append(...keyed.map(entry => entry[2]));
  }));
  const field = document.getElementById("filter"), box = document.getElementById("flagged"), count = document.getElementById("count");
  const texts = rows.map(row => row.cells[1].textContent.toLowerCase() + " " + row.cells[2].textContent.toLowerCase());
  const filter = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, k) => {
      row.hidden = !words.every(word => texts[k].includes(word)) || (box !== null && box.checked && row.className !== "off");
      shown += !row.hidden;
    });
    count.textContent = shown === rows.length ? count.dataset.all : `${shown.toLocaleString("en")} of ${count.dataset.all}`;
  };
  count.dataset.all = count.textContent;
  field.addEventListener("input", filter);
  field.form.addEventListener("submit", event => event.preventDefault());
  if (box) box.addEventListener("change", filter);
  filter();
}
// The maps: the cell below the pointer, or chosen with the arrow keys, is shown below the map.
const packed = document.getElementById("map-data");
if (packed) {
  const data = JSON.parse(packed.textContent), d = data.names.length;
  document.querySelectorAll(".frame").forEach(frame => {
    const bytes = Uint8Array.from(atob(data[frame.dataset.map]), sign => sign.charCodeAt(0));
    const view = new DataView(bytes.buffer), value = (i, j) => view.getInt16(2 * (i * d + j), true);
    const cells = frame.querySelector(".cells"), cursor = frame.querySelector(".cursor"), output = frame.nextElementSibling;
    // a cell chosen with the keys must not be hidden below the names
    frame.style.scrollPadding = `${frame.querySelector(".top").offsetHeight + 2}px 2px 2px ${frame.querySelector(".left").offsetWidth + 2}px`;
    let row = 0, column = 1;
    const read = (i, j) => {
      row = Math.min(Math.max(i, 0), d - 1); column = Math.min(Math.max(j, 0), d - 1);
      cursor.hidden = false;
      cursor.style.transform = `translate(${100 * column}%, ${100 * row}%)`;
      if (row === column) { output.textContent = data.names[row]; return; }
      const low = Math.min(row, column), high = Math.max(row, column), gap = value(low, high);
      const size = Math.abs(gap * data.unit), sign = gap < 0 ? "-" : gap > 0 && frame.dataset.form === "gap" ? "+" : "";
      const said = gap === data.unknown ? "not available" : sign + (frame.dataset.form === "share" ? `${(100 * size).toFixed(0)}%` : size.toFixed(3));
      const below = value(high, low);
      const chance = gap === data.unknown || data.plain ? "" : below === data.untested ? ", not tested"
        : below === data.unknown ? ", not significant" : ", significant";
      output.textContent = `${data.names[low]} ~ ${data.names[high]}: ${frame.dataset.label} ${said}${chance}`;
    };
    const point = event => {
      output.ariaLive = "off";  // cells under the pointer are not announced
      const place = cells.getBoundingClientRect();
      read(Math.floor((event.clientY - place.top) / place.height * d), Math.floor((event.clientX - place.left) / place.width * d));
    };
    cells.addEventListener("pointermove", point);
    cells.addEventListener("pointerdown", point);
    frame.addEventListener("keydown", event => {
      const step = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]}[event.key];
      if (!step) return;
      event.preventDefault();
      output.ariaLive = "polite";
      read(row + step[0], column + step[1]);
      cursor.scrollIntoView({block: "nearest", inline: "nearest"});
    });
  });
}
