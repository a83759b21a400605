"use strict";
(() => {
  const root = document.documentElement, help = document.getElementById("help");
  const stops = Array.from(document.querySelectorAll("details.step, details.notebook"));
  let current = null;

  // Beside the column there is room for the outline.
  const outline = document.querySelector("nav details");
  if (outline) outline.open = matchMedia("(min-width: 76rem)").matches;

  // A page that was opened from a disk may not remember anything: then the choice lasts as long as the page.
  const remembered = (value) => {
    try {
      if (value === undefined) return localStorage.getItem("markmill-theme");
      localStorage.setItem("markmill-theme", value);
    } catch (_) { }
    return null;
  };
  const theme = (value) => { if (value === "light" || value === "dark") root.dataset.theme = value; };
  const otherTheme = () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    theme(dark ? "light" : "dark");
    remembered(root.dataset.theme);
  };
  theme(remembered());

  const go = (stop) => {
    if (!stop) return;
    if (current) current.classList.remove("current");
    current = stop;
    stop.classList.add("current");
    for (let up = stop.parentElement; up; up = up.parentElement) if (up.localName === "details") up.open = true;
    stop.scrollIntoView({ block: "start" });
    const link = document.querySelector('nav a[href="#' + CSS.escape(stop.id) + '"]');
    for (const li of document.querySelectorAll("nav li.here")) li.classList.remove("here");
    if (link) { link.parentElement.classList.add("here"); link.scrollIntoView({ block: "nearest" }); }
    if (stop.id) try { history.replaceState(null, "", "#" + stop.id); } catch (_) { }
  };
  // Without a place of its own the keyboard begins where the reader looks.
  const place = () => {
    if (current) return stops.indexOf(current);
    return stops.filter((s) => s.getBoundingClientRect().top < 80).length - 1;
  };
  const move = (by, wanted) => {
    for (let i = place() + by; i >= 0 && i < stops.length; i += by) if (!wanted || stops[i].matches(wanted)) return go(stops[i]);
  };
  const foldAll = () => {
    const all = document.querySelectorAll("details.step");
    const open = !Array.from(all).some((s) => s.open);
    for (const s of all) s.open = open;
  };

  // Of a comparison: side by side or inline, what is unchanged, pictures over each other.
  const compares = document.querySelector(".change") !== null;
  const otherView = () => { root.dataset.view = root.dataset.view === "inline" ? "side" : "inline"; };
  const foldSame = () => {
    const all = document.querySelectorAll("details.same, details.gap");
    const open = !Array.from(all).some((d) => d.open);
    for (const d of all) d.open = open;
  };
  for (const pics of document.querySelectorAll(".pics")) {
    const button = pics.querySelector("button"), slider = pics.querySelector("input"), pair = pics.querySelector(".pair");
    button.addEventListener("click", () => button.setAttribute("aria-pressed", String(pics.classList.toggle("overlay"))));
    slider.addEventListener("input", () => pair.style.setProperty("--at", slider.value + "%"));
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input:not([type=checkbox]):not([type=range]), textarea")) return;
    switch (event.key) {
      case "j": case "n": move(1); break;
      case "k": case "p": move(-1); break;
      case "e": move(1, compares ? ".red" : ".fail, .timeout"); break;
      case "s": otherView(); break;
      case "u": foldSame(); break;
      case "f": if (current && "open" in current) current.open = !current.open; break;
      case "a": foldAll(); break;
      case "t": otherTheme(); break;
      case "?": if (help.open) help.close(); else help.showModal(); break;
      default: return;
    }
    event.preventDefault();
  });
  document.getElementById("theme").addEventListener("click", otherTheme);
  const view = document.getElementById("view");
  if (view) view.addEventListener("click", otherView);
  document.getElementById("keys").addEventListener("click", () => help.showModal());
  // A link in the line of a step leads there, and does not fold it.
  for (const a of document.querySelectorAll("details.step > summary a")) a.addEventListener("click", (event) => {
    event.preventDefault();
    go(a.closest("details"));
  });

  // A link to what is folded opens it.
  const opened = () => { const to = document.getElementById(location.hash.slice(1)); if (to && "open" in to) to.open = true; };
  addEventListener("hashchange", opened);
  opened();

  // Paper cannot be unfolded.
  let shut = [];
  addEventListener("beforeprint", () => { shut = Array.from(document.querySelectorAll("details:not([open])")); for (const d of shut) d.open = true; });
  addEventListener("afterprint", () => { for (const d of shut) d.open = false; });
})();
