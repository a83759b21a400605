"use strict";
(() => {
  const root = document.documentElement;
  const remembered = (value) => {
    try {
      if (value === undefined) return localStorage.getItem("markmill-theme");
      localStorage.setItem("markmill-theme", value);
    } catch (_) { }
    return null;
  };
  const theme = (value) => { if (value === "light" || value === "dark") root.dataset.theme = value; };
  theme(remembered());
  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    theme(dark ? "light" : "dark");
    remembered(root.dataset.theme);
  });

  // A page that is told when there is something new loads that part of itself again, unless a form of it is in use.
  const watched = document.querySelector("[data-refresh]");
  if (watched) {
    const inUse = (part) => part.querySelector(".ask[open]") || (part.contains(document.activeElement) && document.activeElement.matches("input, select, textarea, button"));
    let old = false, loading = false;
    const load = async () => {
      const part = document.getElementById(watched.id);
      if (!old || loading || inUse(part)) return;
      loading = true;
      old = false;
      try {
        const answer = await fetch(location.href);
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(watched.id);
        if (answer.ok && fresh && !inUse(part)) part.replaceWith(document.adoptNode(fresh)); else old = true;
      } catch (_) { old = true; }
      loading = false;
    };
    const news = new EventSource(watched.dataset.refresh);
    news.addEventListener("change", () => { old = true; load(); });
    news.addEventListener("end", () => { news.close(); old = true; load(); });
    setInterval(load, 2000);
  }

  // A run that goes on: text is set as text, never as markup.
  const run = document.getElementById("run");
  if (!run || !run.dataset.live) return;
  const maxShown = 65536; // characters of a stream on the page
  const element = (id) => document.getElementById(id);
  const clock = element("clock"), link = element("link");
  const began = Date.parse(clock.dataset.from);
  const tick = () => { clock.textContent = "running for " + Math.max(0, Math.round((Date.now() - began) / 1000)) + " s"; };
  tick();
  const ticking = setInterval(tick, 1000);

  const states = ["pass", "fail", "timeout", "edit", "skip"];
  const setClass = (at, name) => { at.classList.remove(...states); at.classList.add(name); };
  const list = (section, at, texts) => {
    element(section).hidden = texts.length === 0;
    element(at).replaceChildren(...texts.map((text) => {
      const item = document.createElement("li");
      item.textContent = text;
      return item;
    }));
  };
  const state = (s) => {
    element("words").textContent = s.words;
    setClass(run, s.class);
    element("steer").hidden = !s.agent;
    for (const step of s.steps) {
      const at = element("step-" + step.id);
      if (!at) return location.reload(); // steps that the page does not know
      if (step.class === "edit" && !at.classList.contains("edit")) at.open = true;
      setClass(at, step.class);
      at.querySelector(".sign").textContent = step.mark;
      at.querySelector(".words").textContent = step.words;
    }
    list("changes", "files", s.files);
    list("processes", "process-list", s.processes);
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

  const events = new EventSource(run.dataset.live);
  events.addEventListener("state", (e) => { link.textContent = ""; state(JSON.parse(e.data)); });
  events.addEventListener("output", (e) => output(JSON.parse(e.data)));
  events.addEventListener("end", () => { events.close(); clearInterval(ticking); location.reload(); });
  events.addEventListener("error", () => { link.textContent = " · the connection is lost; trying again"; });
  events.addEventListener("open", () => { link.textContent = ""; });
})();
