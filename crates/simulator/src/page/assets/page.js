"use strict";
// Asks for the page's data once a second and changes only the texts that differ. Every value is set as text.
(() => {
  const main = document.querySelector("main[data-page]");
  if (!main) return;
  const live = document.getElementById("live");

  const setText = (node, text) => {
    if (node && node.textContent !== text) node.textContent = text;
  };
  const setTone = (node, tone) => {
    if (node && node.dataset.tone !== tone) node.dataset.tone = tone;
  };
  const make = (name, text, key) => {
    const node = document.createElement(name);
    node.textContent = text;
    if (key) node.dataset.k = key;
    return node;
  };

  const cells = ["source", "attempts", "next_check", "deadline", "last_error", "age"];

  const newRow = (row) => {
    const tr = document.createElement("tr");
    tr.dataset.id = row.id;
    const link = make("a", row.name, "name");
    link.href = "/history/" + encodeURIComponent(row.id);
    const badge = make("span", row.state, "state");
    badge.className = "badge";
    for (const inner of [link, badge]) tr.appendChild(document.createElement("td")).appendChild(inner);
    for (const key of cells) tr.appendChild(make("td", row[key], key));
    return tr;
  };

  const patchRow = (tr, row) => {
    const cell = (key) => tr.querySelector(`[data-k="${key}"]`);
    setText(cell("name"), row.name);
    setText(cell("state"), row.state);
    setTone(cell("state"), row.tone);
    for (const key of cells) setText(cell(key), row[key]);
  };

  const patchList = (list) => {
    const body = document.getElementById("rows");
    const known = new Map([...body.children].map((tr) => [tr.dataset.id, tr]));
    let place = body.firstElementChild;
    for (const row of list.rows) {
      const tr = known.get(row.id) || newRow(row);
      known.delete(row.id);
      if (tr === place) place = place.nextElementSibling;
      else body.insertBefore(tr, place);
      patchRow(tr, row);
    }
    for (const tr of known.values()) tr.remove();
    setText(document.getElementById("summary"), list.summary);
    document.getElementById("empty").hidden = list.rows.length > 0;
  };

  const sameShape = (node, texts) =>
    node.childElementCount === texts.length && [...node.children].every((child, at) => child.textContent === texts[at]);

  const patchFacts = (facts) => {
    const box = document.getElementById("facts");
    if (sameShape(box, facts.flatMap((fact) => [fact.label, fact.text]))) return;
    box.replaceChildren(...facts.flatMap((fact) => [make("dt", fact.label), make("dd", fact.text)]));
  };

  const patchTrail = (trail) => {
    const box = document.getElementById("trail");
    if (sameShape(box, trail.map((step) => step.at + step.event + step.to + step.note))) return;
    box.replaceChildren(...trail.map((step) => {
      const item = document.createElement("li");
      item.dataset.tone = step.tone;
      item.append(make("time", step.at), make("strong", step.event), make("span", step.to), make("small", step.note));
      return item;
    }));
  };

  const patchDetail = (detail) => {
    const part = (key) => main.querySelector(`[data-k="${key}"]`);
    setText(part("name"), detail.row.name);
    setText(part("state"), detail.row.state);
    setTone(part("state"), detail.row.tone);
    setText(part("last_error"), detail.row.last_error);
    for (const key of ["progress_note", "progress", "input"]) setText(part(key), detail[key]);
    patchFacts(detail.facts);
    patchTrail(detail.trail);
    document.getElementById("document").hidden = detail.document === "";
    // What a person is typing stays.
    const text = document.getElementById("progress-text");
    if (text.value === text.defaultValue && document.activeElement !== text && text.defaultValue !== detail.progress_raw) {
      text.defaultValue = detail.progress_raw;
    }
  };

  const list = main.dataset.page === "list";
  const address = list ? "/page/histories.json" : "/page/history/" + encodeURIComponent(main.dataset.id);
  const refresh = async () => {
    let lost = false;
    try {
      const answer = await fetch(address, { cache: "no-store" });
      if (!answer.ok) throw new Error(answer.status);
      (list ? patchList : patchDetail)(await answer.json());
    } catch (error) {
      lost = true;
    }
    live.classList.toggle("lost", lost);
    setText(live, lost ? "not reachable" : "live");
    setTimeout(refresh, 1000);
  };
  setTimeout(refresh, 1000);
})();
