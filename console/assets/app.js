"use strict";
// The server renders all parts of the page. This script fetches them again.
(() => {
  const $ = (id) => document.getElementById(id);
  const query = document.body.dataset.query, every = 1000;
  let timer = 0, round = 0, paused = false, seen = new Date(), asking = false;

  async function ask(path) {
    const r = await fetch(path + query, { cache: "no-store", signal: AbortSignal.timeout(10000) });
    if (!r.ok) throw new Error(path + ": " + r.status);
    return new DOMParser().parseFromString(await r.text(), "text/html").body; // the server has escaped it
  }
  // Only what differs changes, so the keyboard focus, open details and the place of a screen
  // reader stay.
  function morph(old, now) {
    if (old.nodeName !== now.nodeName) return old.replaceWith(now);
    if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.data !== now.data) old.data = now.data;
      return;
    }
    for (const { name, value } of now.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    for (const { name } of [...old.attributes]) if (name !== "open" && !now.hasAttribute(name)) old.removeAttribute(name);
    children(old, now);
  }
  function children(old, now) {
    const had = [...old.childNodes], has = [...now.childNodes];
    has.forEach((n, i) => (i < had.length ? morph(had[i], n) : old.append(n)));
    had.slice(has.length).forEach((n) => n.remove());
  }
  const key = () => $("outlook").firstElementChild.dataset.key;
  function show(parts) {
    const before = key();
    for (const part of parts.querySelectorAll("[data-part]")) {
      const { part: id, title, level } = part.dataset;
      if (id !== "tab") children($(id), part);
      else if (document.title !== title || !$("gone").hidden) {
        document.title = title;
        $("icon").href = "icon.svg?level=" + level;
      }
    }
    if (key() !== before || !$("gone").hidden) $("said").textContent = $("outlook").querySelector(".says").textContent; // not each second
    $("gone").hidden = true;
    seen = new Date();
  }
  function lose() {
    if (!$("gone").hidden) return;
    $("gone").textContent = $("said").textContent = "The process does not answer. This page shows it as of " + seen.toISOString().slice(11, 19) + " UTC.";
    $("gone").hidden = false;
    document.title = "No answer: " + document.title;
    $("icon").href = "icon.svg?level=red";
  }
  async function slots() { // may wait for the store
    if (asking) return;
    asking = true;
    try {
      children($("slots"), await ask("parts/slots"));
    } catch { /* the next round tries again */ }
    asking = false;
  }
  async function tick() {
    if (round++ % 5 === 0) slots();
    try {
      show(await ask("parts/live"));
    } catch {
      lose();
    }
    plan();
  }
  function plan() {
    clearTimeout(timer);
    if (!paused && !document.hidden) timer = setTimeout(tick, every);
  }
  $("pause").hidden = false;
  $("pause").addEventListener("click", () => {
    paused = !paused;
    $("pause").textContent = paused ? "Resume updates" : "Pause updates";
    paused ? clearTimeout(timer) : tick();
  });
  document.addEventListener("visibilitychange", plan);
  tick();
})();
