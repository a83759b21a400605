"use strict";
(() => {
  const element = (id) => document.getElementById(id);
  const states = ["pass", "fail", "timeout", "edit", "skip"];
  const setClass = (at, name) => { at.classList.remove(...states); at.classList.add(name); };
  // Somebody who is about to do something is not disturbed.
  const busy = () => document.querySelector("details.ask[open]") ||
    (document.activeElement && document.activeElement.matches("input, select, textarea"));
  let stale = false;
  const again = () => { if (busy()) { stale = true; } else { location.reload(); } };
  setInterval(() => { if (stale && !busy()) location.reload(); }, 500);

  // On a phone the menu is wider than the screen.
  const here = document.querySelector(".menu [aria-current]");
  if (here) here.parentElement.scrollLeft = here.offsetLeft - here.parentElement.offsetLeft - 40;

  // A list that changes loads itself again.
  const list = document.querySelector("[data-pulse]");
  if (list) {
    const address = new URL(location.href);
    address.searchParams.set("pulse", "1");
    setInterval(async () => {
      if (document.hidden || stale) return;
      const answer = await fetch(address).catch(() => null);
      if (answer && answer.ok && (await answer.text()) !== list.dataset.pulse) again();
    }, 3000);
  }

  // A job that goes on: text is set as text, never as markup.
  const job = element("job");
  if (!job || !job.dataset.follow) return;
  const maxShown = 65536; // characters of a stream on the page
  const link = element("link");
  const item = (happened) => {
    const at = document.createElement("li"), time = document.createElement("time"), words = document.createElement("span");
    at.className = happened.class;
    time.dateTime = happened.time;
    time.textContent = happened.time.replace("T", " ").replace(/(\.\d+)?Z$/, "Z");
    words.textContent = happened.words;
    at.append(time, words);
    return at;
  };
  const state = (s) => {
    setClass(element("state"), s.class);
    element("state").textContent = s.words;
    element("now").textContent = s.step;
    element("now").parentElement.hidden = !s.step;
    element("waits").textContent = s.waits;
    element("waits").hidden = !s.waits;
    const beat = element("beat");
    if (beat) beat.textContent = s.heartbeat;
    if ((s.worker || "") !== job.dataset.worker) return again();
    for (const step of s.steps) {
      const at = element("step-" + step.id);
      if (!at) return again(); // steps that the page does not know
      if (step.class === "edit" && !at.classList.contains("edit")) at.open = true;
      setClass(at, step.class);
      at.querySelector(".sign").textContent = step.mark;
      at.querySelector(".words").textContent = step.words;
    }
  };
  const output = (o) => {
    const step = element("step-" + o.step);
    const box = step && step.querySelector('[data-stream="' + o.stream + '"]');
    if (!box) return;
    const pre = box.querySelector("pre");
    const follows = pre.scrollTop + pre.clientHeight >= pre.scrollHeight - 40;
    let text = pre.textContent;
    if (o.skipped) text += "\n… " + o.skipped + " bytes are in the record only …\n";
    text += o.text;
    if (text.length > maxShown) text = "…" + text.slice(text.length - maxShown);
    pre.textContent = text;
    box.hidden = false;
    if (follows) pre.scrollTop = pre.scrollHeight;
  };
  const events = new EventSource(job.dataset.follow);
  let lost = false;
  events.addEventListener("job", (e) => { link.textContent = ""; state(JSON.parse(e.data)); });
  events.addEventListener("happened", (e) => { for (const one of JSON.parse(e.data)) element("happened").append(item(one)); });
  events.addEventListener("output", (e) => output(JSON.parse(e.data)));
  events.addEventListener("trouble", (e) => { link.textContent = JSON.parse(e.data).words; });
  events.addEventListener("end", () => { events.close(); again(); });
  events.addEventListener("error", () => { lost = true; link.textContent = "the connection is lost; trying again"; });
  events.addEventListener("open", () => { if (lost) { events.close(); again(); } });
})();
