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

  const element = (id) => document.getElementById(id);
  const states = ["pass", "fail", "timeout", "edit", "skip"];
  const setClass = (at, name) => { at.classList.remove(...states); at.classList.add(name); };

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
    const updates = new EventSource(watched.dataset.refresh);
    updates.addEventListener("change", () => { old = true; load(); });
    updates.addEventListener("end", () => { updates.close(); old = true; load(); });
    setInterval(load, 2000);
  }

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
  const list = document.querySelector("[data-version]");
  if (list) {
    const address = new URL(location.href);
    address.searchParams.set("version", "1");
    setInterval(async () => {
      if (document.hidden || stale) return;
      const answer = await fetch(address).catch(() => null);
      if (answer && answer.ok && (await answer.text()) !== list.dataset.version) again();
    }, 3000);
  }

  // A run or a job that goes on: text is set as text, never as markup.
  const run = element("run"), job = element("job"), link = element("link");
  const maxShown = 65536; // characters of a stream on the page
  // steps shows how the steps stand. It returns false if the page does not know one.
  const steps = (list) => list.every((step) => {
    const at = element("step-" + step.id);
    if (!at) return false;
    if (step.class === "edit" && !at.classList.contains("edit")) at.open = true;
    setClass(at, step.class);
    at.querySelector(".sign").textContent = step.mark;
    at.querySelector(".words").textContent = step.words;
    return true;
  });
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

  // Times of the last week are said as ages; the time itself is their title.
  for (const at of document.querySelectorAll("time[datetime]")) {
    const seconds = Math.round((Date.now() - Date.parse(at.dateTime)) / 1000);
    const [unit, size] = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]].find(([, n]) => Math.abs(seconds) >= n) || ["second", 1];
    if (Math.abs(seconds) < 7 * 86400) {
      at.title = at.textContent;
      at.textContent = new Intl.RelativeTimeFormat("en", { numeric: "auto" }).format(-Math.trunc(seconds / size), unit);
    }
  }

  const follow = (address, handlers) => {
    const events = new EventSource(address);
    handlers.output = output;
    for (const [kind, handle] of Object.entries(handlers)) events.addEventListener(kind, (e) => handle(e.data && JSON.parse(e.data), events));
  };

  if (run && run.dataset.live) {
    const clock = element("clock"), began = Date.parse(clock.dataset.from);
    const tick = () => { clock.textContent = "running for " + Math.max(0, Math.round((Date.now() - began) / 1000)) + " s"; };
    tick();
    const ticking = setInterval(tick, 1000);
    const list = (section, at, texts) => {
      element(section).hidden = texts.length === 0;
      element(at).replaceChildren(...texts.map((text) => {
        const item = document.createElement("li");
        item.textContent = text;
        return item;
      }));
    };
    follow(run.dataset.live, {
      state: (s) => {
        link.textContent = "";
        element("words").textContent = s.words;
        setClass(run, s.class);
        element("steer").hidden = !s.agent;
        if (!steps(s.steps)) return location.reload();
        list("changes", "files", s.files);
        list("processes", "process-list", s.processes);
      },
      end: (_, events) => { events.close(); clearInterval(ticking); location.reload(); },
      error: () => { link.textContent = " · the connection is lost; trying again"; },
      open: () => { link.textContent = ""; },
    });
  }

  if (job && job.dataset.follow) {
    const item = (happened) => {
      const at = document.createElement("li"), time = document.createElement("time"), words = document.createElement("span");
      at.className = happened.class;
      time.dateTime = happened.time;
      time.textContent = happened.time.replace("T", " ").replace(/(\.\d+)?Z$/, "Z");
      words.textContent = happened.words;
      at.append(time, words);
      return at;
    };
    let lost = false;
    follow(job.dataset.follow, {
      job: (s) => {
        link.textContent = "";
        setClass(element("state"), s.class);
        element("state").textContent = s.words;
        element("now").textContent = s.step;
        element("now").parentElement.hidden = !s.step;
        element("waits").textContent = s.waits;
        element("waits").hidden = !s.waits;
        const beat = element("beat");
        if (beat) beat.textContent = s.heartbeat;
        if ((s.worker || "") !== job.dataset.worker || !steps(s.steps)) again();
      },
      happened: (list) => { for (const one of list) element("happened").append(item(one)); },
      trouble: (t) => { link.textContent = t.words; },
      end: (_, events) => { events.close(); again(); },
      error: () => { lost = true; link.textContent = "the connection is lost; trying again"; },
      open: (_, events) => { if (lost) { events.close(); again(); } },
    });
  }
})();
