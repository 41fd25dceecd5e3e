// Keyboard for lists, orders that are given once however often one clicks, and renewed parts that leave alone
// whoever is in them.
(() => {
  "use strict";
  let awaited = "";
  const rows = () => [...document.querySelectorAll("[data-row]")];
  const typing = (place) => place.closest && place.closest("input, textarea, select, [contenteditable]");

  const move = (step) => {
    const all = rows();
    if (!all.length) return;
    const at = all.findIndex((row) => row.classList.contains("here"));
    const next = all[Math.min(Math.max(at + step, 0), all.length - 1)];
    all.forEach((row) => row.classList.toggle("here", row === next));
    next.querySelector("a").focus();
  };
  const search = () => document.querySelector("[data-search]");
  const plain = {
    j: () => move(1),
    k: () => move(-1),
    x: () => document.querySelector(".here input[type=checkbox]")?.click(),
    "/": () => search() && search().focus(),
    "?": () => document.getElementById("keys").showModal(),
  };
  const after = { gh: "/", gc: "/claims", gr: "/reviews" };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    const pair = awaited + event.key;
    awaited = event.key === "g" ? "g" : "";
    if (after[pair]) {
      window.location.assign(after[pair]);
    } else if (plain[event.key]) {
      event.preventDefault();
      plain[event.key]();
    }
  });
  const orders = (form) => form instanceof HTMLFormElement && form.method === "post";
  document.addEventListener("submit", (event) => {
    if (!orders(event.target)) return;
    if (event.target.dataset.sent) event.preventDefault();
    event.target.dataset.sent = "yes";
  });
  window.addEventListener("pageshow", () => {
    document.querySelectorAll("form[data-sent]").forEach((form) => delete form.dataset.sent);
  });
  const here = document.querySelector(".nav [aria-current]");
  if (here) here.scrollIntoView({ block: "nearest", inline: "center" });
  document.addEventListener("htmx:beforeSwap", (event) => {
    const target = event.detail.target;
    if (target.hasAttribute("data-live") && target.contains(document.activeElement)) event.detail.shouldSwap = false;
  });
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (event.detail.elt.hasAttribute("data-live") && document.hidden) event.preventDefault();
  });
})();
