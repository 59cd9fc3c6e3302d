"use strict";
// The server renders all parts of the page. This script fetches them again and draws the rate.
(() => {
  const $ = (id) => document.getElementById(id);
  const every = 1000, keep = 121;
  const points = []; // {t, rate}
  let last = null, timer = 0, round = 0, paused = false, peak = 0;
  const count = (n) => Math.round(n).toLocaleString("en-US");

  async function ask(path) {
    const r = await fetch(path, { cache: "no-store", signal: AbortSignal.timeout(10000) });
    if (!r.ok) throw new Error(path + ": " + r.status);
    return r;
  }
  // The server has escaped the part. Parts without changes, or with the keyboard focus, stay:
  // otherwise a screen reader would start over each second.
  async function part(id) {
    const text = await (await ask("parts/" + id)).text();
    const el = $(id);
    if (el.dataset.text === text || el.querySelector(":focus-visible")) return;
    const open = [...el.querySelectorAll("details")].map((d) => d.open);
    const left = el.querySelector(".scroll")?.scrollLeft ?? 0;
    el.innerHTML = text;
    el.dataset.text = text;
    el.querySelectorAll("details").forEach((d, i) => { d.open = open[i] ?? false; });
    const box = el.querySelector(".scroll");
    if (box) box.scrollLeft = left;
  }
  function say(text, state) {
    const el = $("state");
    if (el.textContent !== text) el.textContent = text; // a screen reader reads each change
    el.dataset.state = state;
  }
  function rate(st) {
    const t = performance.now();
    if (last && st.issued >= last.issued) {
      points.push((st.issued - last.issued) / ((t - last.t) / 1000));
      if (points.length > keep) points.shift();
    }
    last = { t, issued: st.issued };
    $("issued").textContent = count(st.issued);
    $("waits").textContent = count(st.waits);
    $("lead").textContent = (st.lead_ns / 1e6).toFixed(0) + " ms";
    if (!points.length) return;
    const current = points[points.length - 1], top = Math.max(1, ...points);
    peak = Math.max(peak, current);
    const xy = points.map((v, i) => ((600 * (keep - points.length + i)) / (keep - 1)).toFixed(1) + "," + (149 - (144 * v) / top).toFixed(1));
    $("curve").setAttribute("points", xy.join(" "));
    $("area").setAttribute("points", xy[0].split(",")[0] + ",149 " + xy.join(" ") + " 600,149");
    $("rate").textContent = count(current);
    $("peak").textContent = count(peak);
    $("top").textContent = "full height: " + count(top) + "/s";
    $("chart").setAttribute("aria-label", `Ids per second: ${count(current)} now, at most ${count(top)} in the last two minutes`);
  }
  async function tick() {
    try {
      const st = await (await ask("api/status")).json();
      say((st.ready ? "issues ids: " : "issues no ids: ") + st.state, st.state);
      rate(st);
      await part("lease");
      if (round++ % 5 === 0) await part("slots");
    } catch {
      say("the console does not answer", "gone");
    }
    plan();
  }
  function plan() {
    clearTimeout(timer);
    if (!paused && !document.hidden) timer = setTimeout(tick, every);
  }
  async function decode(event) {
    event.preventDefault();
    const id = $("id").value.trim();
    try {
      $("decode").innerHTML = await (await ask("parts/decode?id=" + encodeURIComponent(id))).text();
      $("id").setAttribute("aria-invalid", String(!!$("decode").querySelector(".error")));
      history.replaceState(null, "", id ? "?id=" + encodeURIComponent(id) : location.pathname);
    } catch {
      $("form").submit();
    }
  }
  $("rate-section").hidden = false;
  $("pause").hidden = false;
  $("pause").addEventListener("click", () => {
    paused = !paused;
    $("pause").textContent = paused ? "Resume" : "Pause";
    last = null;
    paused ? clearTimeout(timer) : tick();
  });
  $("form").addEventListener("submit", decode);
  document.addEventListener("visibilitychange", () => { last = null; plan(); });
  tick();
})();
