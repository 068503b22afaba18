// Progressive enhancement: links and forms also work without this script. All content comes from the server.
"use strict";

const main = document.getElementById("main");
const typing = (at) => at.closest("input, textarea, select, [contenteditable]") !== null;

// --- refreshing parts of a page

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
    const picked = () => drawing.querySelector(".picked");
    for (const kind of ["mouseover", "focusin"]) drawing.addEventListener(kind, (event) => light(drawing, event.target.closest(".node") ?? picked()));
    for (const kind of ["mouseleave", "focusout"]) drawing.addEventListener(kind, () => light(drawing, picked()));
    drawing.addEventListener("click", (event) => {
      const node = event.target.closest(".node");
      // A second click, or a click with a modifier key, opens the page.
      if (node === null || event.ctrlKey || event.metaKey || event.shiftKey || node.classList.contains("picked")) return;
      event.preventDefault();
      pick(drawing, node).catch(() => location.assign(node.getAttribute("href")));
    });
  }
  for (const place of document.querySelectorAll("[data-tabs]")) tabs(place);
}

// --- live filters

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

// --- opening the element in the URL's fragment

function unfold() {
  const place = location.hash && document.getElementById(location.hash.slice(1));
  const folded = place && (place.closest("details") ?? place.querySelector("details"));
  if (folded && place.matches("tr, details")) folded.open = true;
}

addEventListener("hashchange", unfold);

// --- running jobs

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

// --- the map and result graphs

function light(drawing, node) {
  for (const each of drawing.querySelectorAll(".near")) each.classList.remove("near");
  drawing.classList.toggle("lit", node !== null);
  if (node === null) return;
  const lit = new Set([node.dataset.node]);
  for (const each of drawing.querySelectorAll(".edges line")) {
    const ends = each.dataset.ends.split(" ");
    if (!ends.includes(node.dataset.node)) continue;
    each.classList.add("near");
    for (const end of ends) lit.add(end);
  }
  for (const each of drawing.querySelectorAll(".node")) each.classList.toggle("near", lit.has(each.dataset.node));
}

async function pick(drawing, node) {
  const panel = document.getElementById("panel");
  for (const each of drawing.querySelectorAll(".picked")) each.classList.remove("picked");
  node?.classList.add("picked");
  light(drawing, node);
  panel.hidden = node === null;
  if (node === null) return;
  const found = await part(node.dataset.near, "part");
  if (found === null) throw new Error("there is no such part");
  if (!node.classList.contains("picked")) return;
  panel.lastElementChild.replaceChildren(...document.adoptNode(found).childNodes);
  panel.querySelector("a").focus({ preventScroll: true });
  panel.scrollIntoView({ block: "nearest" });
}

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-close]")) unpick();
});

function unpick() {
  const drawing = document.querySelector("svg.map");
  const node = drawing?.querySelector(".picked");
  if (!node) return false;
  pick(drawing, null);
  node.focus({ preventScroll: true });
  return true;
}

// --- tabs (without a script, all parts are shown)

function tabs(place) {
  const parts = [...place.querySelectorAll(":scope > section")];
  delete place.dataset.tabs;
  if (parts.length < 2) return;
  const list = document.createElement("div");
  list.setAttribute("role", "tablist");
  const buttons = parts.map((each) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = each.querySelector("h2").textContent;
    button.setAttribute("role", "tab");
    button.setAttribute("aria-controls", each.id);
    each.setAttribute("role", "tabpanel");
    each.setAttribute("aria-label", button.textContent);
    list.append(button);
    return button;
  });
  const show = (at) => {
    buttons.forEach((button, n) => {
      button.setAttribute("aria-selected", String(n === at));
      button.tabIndex = n === at ? 0 : -1;
      parts[n].hidden = n !== at;
    });
  };
  list.addEventListener("click", (event) => { if (buttons.includes(event.target)) show(buttons.indexOf(event.target)); });
  list.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by === undefined) return;
    const at = (buttons.indexOf(event.target) + by + buttons.length) % buttons.length;
    show(at);
    buttons[at].focus();
  });
  const named = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    const at = target ? parts.findIndex((each) => each.contains(target)) : -1;
    if (at !== -1) show(at);
    return at !== -1;
  };
  addEventListener("hashchange", named);
  place.prepend(list);
  place.classList.add("tabbed");
  if (!named()) show(0);
}

// --- Cypher: completion of words in the schema, and the history of statements

(function statements() {
  const field = document.querySelector("textarea[data-words]");
  if (field === null) return;
  const words = field.dataset.words.split(" ");
  const list = document.getElementById("completions");
  const key = "xkg-cypher " + document.querySelector(".graph-name").textContent;
  const stored = JSON.parse(localStorage.getItem(key) ?? "[]");
  const old = document.getElementById("history");
  for (const statement of stored) {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = "/cypher?statement=" + encodeURIComponent(statement);
    link.textContent = statement;
    item.append(link);
    old.append(item);
  }
  old.closest("details").hidden = stored.length === 0;
  if (field.dataset.asked) {
    const kept = [field.dataset.asked, ...stored.filter((each) => each !== field.dataset.asked)];
    localStorage.setItem(key, JSON.stringify(kept.slice(0, 30)));
  }
  const begun = () => /[\p{L}_][\p{L}\p{N}_]*$/u.exec(field.value.slice(0, field.selectionStart))?.[0] ?? "";
  const options = () => [...list.children];
  const at = () => options().findIndex((each) => each.ariaSelected === "true");
  const choose = (n) => options().forEach((each, m) => { each.ariaSelected = String(m === n); });
  const close = () => { list.replaceChildren(); field.setAttribute("aria-expanded", "false"); };
  const take = (word) => {
    const end = field.selectionStart;
    field.setRangeText(word, end - begun().length, end, "end");
    close();
    field.focus();
  };
  field.addEventListener("input", () => {
    const start = begun();
    const fitting = words.filter((word) => word.toLowerCase().startsWith(start.toLowerCase()) && word !== start);
    const found = start.length < 2 ? [] : fitting.sort((a, b) => b.startsWith(start) - a.startsWith(start));
    list.replaceChildren(...found.slice(0, 8).map((word) => {
      const item = document.createElement("li");
      item.role = "option";
      item.textContent = word;
      item.addEventListener("mousedown", (event) => { event.preventDefault(); take(word); });
      return item;
    }));
    field.setAttribute("aria-expanded", String(found.length > 0));
    choose(0);
  });
  field.addEventListener("blur", close);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { field.form.requestSubmit(); return; }
    const every = options();
    if (!every.length) return;
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by !== undefined) choose((at() + by + every.length) % every.length);
    else if (event.key === "Tab" || event.key === "Enter") take(every[at()].textContent);
    else if (event.key === "Escape") { close(); event.stopPropagation(); } else return;
    event.preventDefault();
  });
})();

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
  if (event.key === "Escape" && !typing(event.target) && unpick()) return;
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
