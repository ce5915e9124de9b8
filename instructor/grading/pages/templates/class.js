"use strict";
// Sorts and filters the table of people. Rows keep their cells; sorting moves them, filtering hides them.
const table = document.getElementById("people");
const body = table.tBodies[0];
const rows = Array.from(body.rows);
const text = document.getElementById("filter");
const section = document.getElementById("section");
const shown = document.getElementById("shown");
const words = rows.map(row => row.cells[0].textContent.toLowerCase() + " " + row.dataset.more.toLowerCase());
const collator = new Intl.Collator(undefined, {numeric: true});

function valueOf(row, column) {
  const cell = row.cells[column];
  return "value" in cell.dataset ? cell.dataset.value : cell.textContent;
}

function sortBy(header) {
  const column = header.cellIndex;
  const numeric = header.classList.contains("number");
  // Numbers begin with the highest, words with the first; a second click reverses the order.
  const before = header.getAttribute("aria-sort");
  const ascending = before ? before === "descending" : !numeric;
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", ascending ? "ascending" : "descending");
  const compare = numeric ? (a, b) => a - b : collator.compare;
  const keyed = rows.map(row => [valueOf(row, column), row]);
  keyed.sort(([a], [b]) => {
    if (a === "" || b === "") return (a === "") - (b === "");      // missing values come last in both orders
    return ascending ? compare(a, b) : compare(b, a);
  });
  body.append(...keyed.map(([, row]) => row));
}

function filter() {
  const wanted = text.value.toLowerCase().split(/\s+/);
  let count = 0;
  rows.forEach((row, i) => {
    const fits = wanted.every(word => words[i].includes(word)) && (!section || section.value === "" || row.dataset.section === section.value);
    row.hidden = !fits;
    count += fits;
  });
  shown.textContent = `${count} of ${rows.length} shown`;
}

for (const header of table.tHead.rows[0].cells) {
  const button = document.createElement("button");
  button.type = "button";
  button.append(...header.childNodes);
  header.append(button);
  button.addEventListener("click", () => sortBy(header));
}
text.addEventListener("input", filter);
if (section) section.addEventListener("input", filter);
text.form.addEventListener("submit", event => event.preventDefault());
text.form.hidden = false;
filter();
