// The model of a claim's process, with the place where the claim stands; the page says the same in words.
(() => {
  "use strict";
  const place = document.querySelector("[data-diagram]");
  if (!place) return;
  const element = place.dataset.element;
  const viewer = new window.BpmnJS({ container: place, textRenderer: { externalStyle: { fontSize: 9 } } });
  const canvas = viewer.get("canvas");

  const here = () => {
    const shape = viewer.get("elementRegistry").get(element);
    if (!shape) return canvas.zoom("fit-viewport", "auto");
    const size = canvas.getSize();
    const scale = Math.min(1, Math.max(size.width / 700, 0.55));
    const width = size.width / scale;
    const height = size.height / scale;
    canvas.viewbox({
      x: shape.x + shape.width / 2 - width / 2,
      y: shape.y + shape.height / 2 - height / 2,
      width,
      height,
    });
  };
  const steps = {
    in: () => canvas.zoom(canvas.zoom() * 1.25),
    out: () => canvas.zoom(canvas.zoom() / 1.25),
    all: () => canvas.zoom("fit-viewport", "auto"),
    here,
  };
  const moves = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
  const byKey = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const move = moves[event.key];
    if (move) canvas.scroll({ dx: move[0], dy: move[1] });
    else if (event.key === "+") steps.in();
    else if (event.key === "-") steps.out();
    else return;
    event.preventDefault();
  };
  const named = () => {
    const picture = place.querySelector(".djs-container > svg");
    picture.setAttribute("role", "img");
    picture.setAttribute("aria-label", place.dataset.label);
    picture.setAttribute("aria-describedby", "drawing-keys");
    picture.setAttribute("tabindex", "0");
    picture.addEventListener("keydown", byKey);
  };
  const draw = async () => {
    const answer = await fetch(place.dataset.diagram, { credentials: "same-origin" });
    if (!answer.ok) throw new Error("no model");
    await viewer.importXML(await answer.text());
    named();
    if (viewer.get("elementRegistry").get(element)) canvas.addMarker(element, "here");
    here();
    place.dataset.drawn = "yes";
  };

  document.querySelectorAll("[data-zoom]").forEach((button) => {
    button.addEventListener("click", () => steps[button.dataset.zoom]());
  });
  draw().catch(() => {
    document.querySelector("[data-no-diagram]").hidden = false;
  });
})();
