// Loads a page again every quarter of a minute while nobody does anything with it. Without this
// script the page is the same, and loaded again by hand.
"use strict";
(() => {
  if (!("refresh" in document.body.dataset)) return;
  const button = document.getElementById("pause");
  const key = "parley-paused";
  let paused = sessionStorage.getItem(key) === "1";
  const show = () => { button.textContent = paused ? "Go on refreshing" : "Pause refreshing"; };
  button.hidden = false;
  button.addEventListener("click", () => {
    paused = !paused;
    sessionStorage.setItem(key, paused ? "1" : "0");
    show();
  });
  show();
  const busy = () =>
    document.hidden || document.querySelector("details[open]") !== null ||
    (document.activeElement !== null && document.activeElement !== document.body && document.activeElement !== button) ||
    String(document.getSelection()) !== "";
  setInterval(() => { if (!paused && !busy()) location.reload(); }, 15000);
})();
