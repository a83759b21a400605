// When pages of a workbench are painted: node paint.mjs ADDRESS BROWSER, with the address that bench/workbench --stay
// prints. Of each page the median of 15 loads, in ms after the navigation began: first byte, first paint with content.
import puppeteer from "puppeteer-core";

const [address, executablePath] = process.argv.slice(2);
const browser = await puppeteer.launch({ executablePath, headless: true, args: ["--no-sandbox", "--disable-gpu"] });
try {
  const page = await browser.newPage();
  await page.setViewport({ width: 1280, height: 900 });
  await page.goto(address);
  const base = new URL(address).origin;
  const median = (list) => list.sort((a, b) => a - b)[Math.floor(list.length / 2)].toFixed(0);
  for (const where of ["/", "/runs", "/runs?status=fail"]) {
    const first = [], painted = [];
    for (let i = 0; i < 16; i++) {
      await page.goto(base + where, { waitUntil: "load" });
      const times = await page.evaluate(() => new Promise((done) => {
        const byte = performance.getEntriesByType("navigation")[0].responseStart;
        new PerformanceObserver((list) => {
          for (const e of list.getEntries()) if (e.name === "first-contentful-paint") done([byte, e.startTime]);
        }).observe({ type: "paint", buffered: true });
      }));
      if (i) { first.push(times[0]); painted.push(times[1]); } // the first load warms up
    }
    console.log(`| \`${where}\` | ${median(first)} | ${median(painted)} |`);
  }
} finally {
  await browser.close();
}
