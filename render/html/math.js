(() => {
  "use strict";
  let macros = { "\\pmb": "\\boldsymbol{#1}" }; // Temml's writes a style attribute, which the policy of the page forbids
  for (const el of document.querySelectorAll("span.math")) {
    const source = el.textContent, round = /^\\{1,2}[([]/.test(source);
    const display = /^(\$\$|\\{1,2}\[|\\begin)/.test(source);
    let tex = source;
    if (round) tex = source.replace(/^\\+[([]|\\+[)\]]$/g, "");
    else if (source[0] === "$") tex = source.replace(/^\$+`?|`?\$+$/g, "");
    if (/\\(newcommand|renewcommand|def|DeclareMathOperator)\b/.test(tex)) {
      try {
        macros = { ...macros, ...temml.definePreamble(tex, { macros: { ...macros } }) };
        el.replaceChildren();
        continue;
      } catch { /* not only definitions */ }
    }
    const set = document.createElement("span");
    try {
      temml.render(tex, set, { displayMode: display, throwOnError: true, macros: { ...macros }, maxSize: [40, 400], wrap: display ? "none" : "tex" });
    } catch (error) {
      el.title = String(error.message || error);
      continue;
    }
    el.classList.toggle("display", display);
    el.replaceChildren(...set.childNodes);
  }
})();
