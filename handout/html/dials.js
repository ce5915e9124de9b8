// Figures to play with: each dial adds its controls to the figure of its name. Without this script,
// and on paper, the picture alone is there.
(() => {
  const make = (tag, attributes = {}, ...content) => {
    const svg = ["svg", "circle", "path", "g", "text"].includes(tag);
    const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
    Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
    element.append(...content);
    return element;
  };

  const slider = (label, max, value) => {
    const input = make("input", { type: "range", min: 0, max, step: 1, value });
    const shown = make("span", { class: "value", "aria-hidden": "true" });
    return { input, shown, row: make("label", {}, make("span", {}, label), input, shown) };
  };

  const dial = (figure, title, picture, controls) => {
    const said = make("output", { "aria-live": "polite" });
    const box = make("fieldset", { class: "dial" }, make("legend", {}, title), picture, ...controls, said);
    figure.insertBefore(box, figure.querySelector("figcaption"));
    return said;
  };

  const rounded = (number, digits) => number.toFixed(digits).replace(/^-(0\.?0*)$/, "$1").replace("-", "−");

  // RoPE: a query and a key of length 1 in one pair of features; figures/rotation.py has the same
  const rotation = (figure) => {
    const theta = 0.5, last = 20, start = { query: 0.2, key: -0.5 };
    const degrees = (radians) => radians * 180 / Math.PI;
    const arrow = (name) => make("g", { class: name },
      make("path", { d: "M0 0H88" }), make("path", { class: "head", d: "M100 0L84 -7V7Z" }));
    const arrows = { key: arrow("key"), query: arrow("query") };
    const between = make("path", { class: "between" });
    const names = { key: make("text", {}, "key"), query: make("text", {}, "query") };
    const picture = make("svg", { viewBox: "-160 -125 320 250", "aria-hidden": "true" },
      make("circle", { r: 100 }), between, arrows.key, arrows.query, names.key, names.query);
    const query = slider("Position of the query, t₁", last, 3), key = slider("Position of the key, t₂", last, 1);
    const locked = make("input", { type: "checkbox" });
    const said = dial(figure, "Try it: move query and key", picture,
      [query.row, key.row, make("label", { class: "check" }, locked, " Lock their distance")]);
    let distance;

    const show = () => {
      const turned = { query: query.input.value * theta, key: key.input.value * theta };
      for (const name of ["query", "key"]) {
        const at = start[name] + turned[name];
        arrows[name].style.transform = `rotate(${-degrees(at)}deg)`;
        names[name].setAttribute("x", 128 * Math.cos(at));
        names[name].setAttribute("y", 5 - 112 * Math.sin(at));
      }
      query.shown.textContent = query.input.value;
      key.shown.textContent = key.input.value;
      if (!locked.checked) distance = query.input.value - key.input.value;
      const angle = start.query - start.key + distance * theta;
      const small = Math.abs(Math.atan2(Math.sin(angle), Math.cos(angle)));
      const [x, y] = [start.key + turned.key, start.query + turned.query].map((at) => [40 * Math.cos(at), -40 * Math.sin(at)]);
      const left = Math.sin(angle) >= 0 ? 0 : 1;
      between.setAttribute("d", `M0 0L${x}A40 40 0 0 ${left} ${y}Z`);
      said.textContent = `Distance t₁ − t₂ = ${rounded(distance, 0)}. The query has turned by ` +
        `${rounded(degrees(turned.query), 0)}°, the key by ${rounded(degrees(turned.key), 0)}°. ` +
        `The angle between them is ${rounded(degrees(small), 0)}°, and their score ${rounded(Math.cos(angle), 3)}.`;
    };
    const move = (moved, other, sign) => {
      if (locked.checked) {
        const low = Math.max(0, sign * distance), high = last + Math.min(0, sign * distance);
        moved.input.value = Math.min(high, Math.max(low, moved.input.value));
        other.input.value = moved.input.value - sign * distance;
      }
      show();
    };
    query.input.addEventListener("input", () => move(query, key, 1));
    key.input.addEventListener("input", () => move(key, query, -1));
    locked.addEventListener("change", show);
    show();
  };

  // The scale of the scores: one query and its keys, at each size; figures/score_scale.py drew them
  const score_scale = (figure) => {
    const sizes = JSON.parse(figure.dataset.values);
    const softmax = (scores) => {
      const top = Math.max(...scores), powers = scores.map((score) => Math.exp(score - top));
      const sum = powers.reduce((total, power) => total + power);
      return powers.map((power) => power / sum);
    };
    const bars = (title) => {
      const all = sizes[0][1].map(() => make("span"));
      return { all, group: make("div", { class: "bars" }, make("div", {}, ...all), title) };
    };
    const groups = [bars("softmax(q·k)"), bars("softmax(q·k / √dₖ)")];
    const size = slider("Size of query and keys, dₖ", sizes.length - 1, 4);
    const said = dial(figure, "Try it: change the size",
      make("div", { class: "pair", "aria-hidden": "true" }, ...groups.map(({ group }) => group)), [size.row]);
    figure.classList.add("replaced");

    const show = () => {
      const [d_k, scores] = sizes[size.input.value];
      size.shown.textContent = d_k;
      size.input.setAttribute("aria-valuetext", d_k);
      const [plain, scaled] = [1, Math.sqrt(d_k)].map((by, index) => {
        const weights = softmax(scores.map((score) => score / by));
        groups[index].all.forEach((bar, key) => { bar.style.height = `${100 * weights[key]}%`; });
        return rounded(Math.max(...weights), 3);
      });
      said.textContent = `dₖ = ${d_k}: the largest of the ${scores.length} weights is ${plain} without ` +
        `the division by √dₖ, and ${scaled} with it.`;
    };
    size.input.addEventListener("input", show);
    show();
  };

  for (const [name, build] of Object.entries({ rotation, score_scale })) {
    const figure = document.getElementById(`fig-${name}`);
    if (figure) build(figure);
  }
})();
