"use strict";
// This script measures the page for browser_test.go, which reads the attribute data-probe.
(() => {
  const problems = [];
  const rgb = (s) => (s.match(/[\d.]+/g) || []).map(Number);
  const lum = ([r, g, b]) => {
    const f = (v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b);
  };
  const solid = (s) => { const c = rgb(s); return s.startsWith("rgb") && (c.length < 4 || c[3] === 1); };
  const behind = (el) => {
    for (; el; el = el.parentElement) {
      const s = getComputedStyle(el);
      if (s.backgroundImage !== "none") return null;
      if (solid(s.backgroundColor)) return rgb(s.backgroundColor);
    }
    return [255, 255, 255];
  };
  const measure = () => {
    problems.length = 0;
    const wide = document.documentElement.clientWidth;
    let texts = 0;
    if (document.documentElement.scrollWidth > wide) problems.push("the page scrolls sideways: " + document.documentElement.scrollWidth + " > " + wide);
    for (const el of document.querySelectorAll("body *")) {
      if (!el.checkVisibility() || el.matches(".skip")) continue;
      const box = el.getBoundingClientRect();
      if (box.right > wide + 1 && !el.closest(".scroll")) problems.push("off the page: " + el.tagName + "." + el.className);
      if (![...el.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
      const s = getComputedStyle(el), bg = behind(el);
      const fg = rgb(el instanceof SVGElement ? s.fill : s.color);
      if (!bg) continue;
      texts++;
      const [a, b] = [lum(fg), lum(bg)].sort((x, y) => y - x);
      const ratio = (a + 0.05) / (b + 0.05);
      if (ratio < 4.5) problems.push("contrast " + ratio.toFixed(2) + ": " + el.tagName + "." + (el.className.baseVal ?? el.className) + " " + el.textContent.trim().slice(0, 30));
    }
    for (const el of document.querySelectorAll("a[href], button, input:not([type=hidden]), summary, [tabindex]")) {
      const name = el.getAttribute("aria-label") || el.textContent.trim() || (el.labels && el.labels[0] && el.labels[0].textContent);
      if (!name) problems.push("no name: " + el.outerHTML.slice(0, 60));
    }
    for (const el of document.querySelectorAll(".scroll")) {
      if (el.scrollWidth > el.clientWidth + 1) problems.push("cut off: " + el.getAttribute("aria-label") + " " + el.scrollWidth + " > " + el.clientWidth);
    }
    for (const el of document.querySelectorAll("svg text")) {
      const box = el.getBoundingClientRect();
      if (box.width && (box.left < 0 || box.right > wide)) problems.push("cut off: " + el.textContent);
    }
    for (const el of document.querySelectorAll("svg")) {
      if (el.getAttribute("role") !== "img" || !el.getAttribute("aria-label")) problems.push("no text for " + el.outerHTML.slice(0, 60));
    }
    document.documentElement.dataset.probe = JSON.stringify({ wide, texts, dark: matchMedia("(prefers-color-scheme: dark)").matches, problems });
  };
  setInterval(measure, 500);

  // What a screen reader hears.
  const said = [];
  new MutationObserver(() => {
    said.push(document.getElementById("said").textContent);
    document.documentElement.dataset.said = JSON.stringify(said);
  }).observe(document.getElementById("said"), { childList: true, characterData: true, subtree: true });

  // With #drive it uses the page as people do, and records the results.
  if (location.hash !== "#drive") return;
  const $ = (id) => document.getElementById(id);
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  (async () => {
    await wait(1500);
    const notes = {};
    $("pause").click();
    const [before, label] = [$("issued").textContent, $("pause").textContent];
    await wait(2500);
    notes.paused = label === "Resume updates" && $("issued").textContent === before;
    $("pause").click();
    $("lease").querySelector("details").open = true;
    await wait(2500);
    notes.open = $("lease").querySelector("details").open;
    notes.live = $("pause").textContent === "Pause updates" && $("issued").textContent !== before;
    document.documentElement.dataset.drive = JSON.stringify(notes);
  })();
})();
