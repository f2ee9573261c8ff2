// A slider over frames: `frames` are SVG elements as text, `k` is the number of the one that shows.
// As an anywidget the model is Python's; on a page of its own it is a plain one (see stepper.py).
function render({ model, el }) {
  const frames = model.get("frames");
  const create = (name, properties) => Object.assign(document.createElement(name), properties);
  const back = create("button", { type: "button", textContent: "◀", title: "the event before" });
  const on = create("button", { type: "button", textContent: "▶", title: "the next event" });
  const slider = create("input", { type: "range", min: 0, max: frames.length - 1, step: 1 });
  const says = create("span", { className: "cerlab-step" });
  const picture = create("div", { className: "cerlab-frame" });
  slider.setAttribute("aria-label", "step");
  picture.setAttribute("aria-live", "polite");
  slider.style.cssText = "flex:1;max-width:40em";

  const show = () => {
    const k = model.get("k");
    slider.value = k;
    back.disabled = k === 0;
    on.disabled = k === frames.length - 1;
    says.textContent = `step ${k + 1} of ${frames.length}`;
    picture.innerHTML = frames[k];
  };
  const go = (k) => {
    model.set("k", Math.min(Math.max(k, 0), frames.length - 1));
    model.save_changes();
    show();
  };
  slider.addEventListener("input", () => go(Number(slider.value)));
  back.addEventListener("click", () => go(model.get("k") - 1));
  on.addEventListener("click", () => go(model.get("k") + 1));
  model.on("change:k", show);

  const bar = create("div", { className: "cerlab-stepper" });
  bar.style.cssText = "display:flex;gap:.6em;align-items:center;margin:.4em 0";
  bar.addEventListener("keydown", (event) => event.stopPropagation()); // not to the notebook
  bar.append(back, slider, on, says);
  el.replaceChildren(bar, picture);
  show();
}

export default { render };
