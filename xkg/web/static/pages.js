// What pages do beyond links and forms, which work without it. It only ever shows what the server answered.
"use strict";

const main = document.getElementById("main");
const typing = (at) => at.closest("input, textarea, select, [contenteditable]") !== null;

// --- parts of a page that are asked for anew

async function part(address, id) {
  const answer = await fetch(address, { headers: { accept: "text/html" }, credentials: "same-origin" });
  if (answer.redirected && new URL(answer.url).pathname === "/sign-in") {
    location.assign(answer.url);
    return null;
  }
  const made = new DOMParser().parseFromString(await answer.text(), "text/html");
  return made.getElementById(id);
}

let newest = 0;

async function renew(address, id) {
  const own = ++newest;
  const fresh = await part(address, id);
  const old = document.getElementById(id);
  if (own !== newest || fresh === null || old === null) return;
  old.replaceWith(document.adoptNode(fresh));
  wire();
}

function wire() {
  for (const place of document.querySelectorAll("[data-load]")) {
    const address = place.dataset.load;
    delete place.dataset.load;
    part(address, "part").then((found) => {
      if (found !== null) place.replaceChildren(...document.adoptNode(found).childNodes);
    }, () => {});
  }
  const drawing = document.querySelector("svg.map");
  if (drawing !== null && !drawing.dataset.wired) {
    drawing.dataset.wired = "1";
    for (const kind of ["mouseover", "focusin"]) drawing.addEventListener(kind, (event) => light(drawing, event.target.closest(".node")));
    for (const kind of ["mouseleave", "focusout"]) drawing.addEventListener(kind, () => light(drawing, null));
  }
}

// --- filters that answer while one types

let pause = 0;

for (const form of document.querySelectorAll("form[data-live]")) {
  const ask = () => {
    const fields = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (value !== "") fields.append(name, value);
    const address = form.getAttribute("action") + (fields.size ? "?" + fields : "");
    history.replaceState(null, "", address);
    renew(address, form.dataset.live).catch(() => {});
  };
  form.addEventListener("input", () => {
    clearTimeout(pause);
    pause = setTimeout(ask, 40);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(pause);
    ask();
  });
}

for (const field of document.querySelectorAll("[data-filter]")) {
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of document.querySelectorAll("#" + field.dataset.filter + " li")) {
      row.hidden = !words.every((word) => row.dataset.text.toLowerCase().includes(word));
    }
  });
}

// --- an address that names what is folded in opens it

function unfold() {
  const place = location.hash && document.getElementById(location.hash.slice(1));
  const folded = place && (place.closest("details") ?? place.querySelector("details"));
  if (folded && place.matches("tr, details")) folded.open = true;
}

addEventListener("hashchange", unfold);

// --- jobs at work

(function live() {
  const place = document.querySelector("[data-refresh]");
  if (place === null) return;
  setTimeout(async () => {
    const open = [...place.querySelectorAll("details")].map((each) => each.open);
    if (!document.hidden) {
      await renew(location.href, place.id).catch(() => {});
      const fresh = document.getElementById(place.id);
      [...fresh.querySelectorAll("details")].forEach((each, n) => { each.open = open[n] ?? each.open; });
    }
    live();
  }, Number(place.dataset.refresh));
})();

// --- the map

function light(drawing, node) {
  for (const each of drawing.querySelectorAll(".near")) each.classList.remove("near");
  const near = node === null ? [] : (node.dataset.near || "").split(" ").filter(Boolean);
  drawing.classList.toggle("lit", near.length > 0);
  if (!near.length) return;
  const own = node.dataset.node;
  const lit = new Set([own, ...near]);
  for (const each of drawing.querySelectorAll(".node")) each.classList.toggle("near", lit.has(each.dataset.node));
  for (const each of drawing.querySelectorAll(".edges line")) each.classList.toggle("near", each.dataset.ends.split(" ").includes(own));
}

const WAYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function step(node, [wx, wy]) {
  const middle = (each) => {
    const box = each.querySelector("circle, rect").getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2];
  };
  const [x, y] = middle(node);
  let best = null;
  let least = Infinity;
  for (const each of node.closest("svg").querySelectorAll(".node")) {
    const [ox, oy] = middle(each);
    const along = (ox - x) * wx + (oy - y) * wy;
    const across = Math.abs((ox - x) * wy) + Math.abs((oy - y) * wx);
    if (each !== node && along > 1 && along + 2 * across < least) [best, least] = [each, along + 2 * across];
  }
  if (best !== null) best.focus();
}

// --- keyboard

function rowAt(by) {
  const rows = [...main.querySelectorAll("[data-row]")].filter((row) => row.offsetParent !== null);
  if (!rows.length) return;
  const at = rows.findIndex((row) => row.classList.contains("at"));
  const next = rows[Math.max(0, Math.min(rows.length - 1, at === -1 ? (by > 0 ? 0 : rows.length - 1) : at + by))];
  for (const row of rows) row.classList.toggle("at", row === next);
  next.scrollIntoView({ block: "nearest" });
  const link = next.querySelector("a");
  if (link !== null) link.focus({ preventScroll: true });
}

const follow = (found) => { if (found !== null) found.click(); };
let before = "";

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && typing(event.target)) {
    event.target.blur();
    return;
  }
  if (typing(event.target) || document.querySelector("dialog[open]")) return;
  const node = event.target.closest(".node");
  if (node !== null && event.key in WAYS) {
    event.preventDefault();
    step(node, WAYS[event.key]);
    return;
  }
  const after = before;
  before = event.key === "g" ? "g" : "";
  if (after === "g") {
    follow(document.querySelector(`.top nav a[data-key="${CSS.escape(event.key)}"]`));
    return;
  }
  switch (event.key) {
    case "/":
      event.preventDefault();
      (main.querySelector("input[type=search]") ?? document.getElementById("quick")).focus();
      break;
    case "j": rowAt(1); break;
    case "k": rowAt(-1); break;
    case "n": follow(document.querySelector("main a[rel=next]")); break;
    case "N": follow(document.querySelector("main a[rel=prev]")); break;
    case "u": follow(document.querySelector("[data-up]")); break;
    case "t": document.getElementById("theme").click(); break;
    case "?": document.getElementById("help").showModal(); break;
  }
});

document.getElementById("keys").addEventListener("click", () => document.getElementById("help").showModal());

document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  document.querySelector("meta[name=color-scheme]").content = root.dataset.theme;
  document.cookie = `xkg-theme=${root.dataset.theme}; path=/; max-age=31536000; samesite=lax`;
});

wire();
unfold();
