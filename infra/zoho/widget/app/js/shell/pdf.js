// pdf.js with everything off that a document could run: no scripting, no XFA, no links, no wasm, no system access
// but fonts. Pages are drawn when they come near the window.

const at = (path) => new URL(`../../pdfjs/${path}`, import.meta.url).href;

async function read(path) {
  const response = await fetch(at(path));
  if (!response.ok) throw new Error(`${path} is missing`);
  return response;
}

const bytesOf = (base64) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));

let maps;

/** Character maps and Type 1 fonts, which the package holds as base64 in JSON. */
class PackedData {
  async fetch({ kind, filename }) {
    if (kind === 'cMapUrl') {
      maps ??= read('cmaps.json').then((response) => response.json());
      return bytesOf((await maps)[filename]);
    }
    const path = `standard_fonts/${filename}`;
    if (filename.endsWith('.ttf')) return new Uint8Array(await (await read(path)).arrayBuffer());
    return bytesOf(await (await read(path.replace(/\.\w+$/, '.json'))).json());
  }
}

let library;

async function pdfjs() {
  library ??= import('../../pdfjs/pdf.js').then((module) => {
    module.GlobalWorkerOptions.workerSrc = at('pdf.worker.js');
    return module;
  });
  try {
    return await library;
  } catch (error) {
    library = undefined;
    throw error;
  }
}

/** Draws the document into `box`. Rejects where it cannot be drawn; `onFailed` is told of a page that cannot, later. */
export async function drawDocument(bytes, box, { viewer, pageLabel, noText, onFailed }) {
  const { getDocument, AnnotationMode } = await pdfjs();
  const task = getDocument({
    data: bytes, enableXfa: false, useWasm: false, stopAtErrors: false, disableAutoFetch: true, disableStream: true,
    cMapUrl: at(''), cMapPacked: true, standardFontDataUrl: at('standard_fonts/'), wasmUrl: at('wasm/'),
    BinaryDataFactory: PackedData, useWorkerFetch: false, disableWorkerRendering: true,
  });
  const pdf = await task.promise;
  const frames = Array.from({ length: pdf.numPages }, (_, i) => frame(i + 1, pdf.numPages, pageLabel));
  box.replaceChildren(...frames.map((f) => f.element));
  let scale = 1;
  let isClosed = false;

  const first = await pdf.getPage(1);
  const natural = first.getViewport({ scale: 1 });
  for (const f of frames) resize(f, natural, scale);

  async function draw(f) {
    if (isClosed || f.drawnAt === scale) return;
    f.drawnAt = scale;
    const page = await pdf.getPage(f.number);
    if (isClosed || f.drawnAt !== scale) return;
    // Sharp on dense screens, and never more pixels than a canvas may have.
    const viewport = page.getViewport({ scale });
    const ratio = Math.min(globalThis.devicePixelRatio || 1, Math.sqrt(16e6 / (viewport.width * viewport.height)));
    const dense = page.getViewport({ scale: scale * ratio });
    resize(f, page.getViewport({ scale: 1 }), scale);
    f.render?.cancel();
    const canvas = f.canvas.cloneNode();
    canvas.width = Math.floor(dense.width);
    canvas.height = Math.floor(dense.height);
    f.render = page.render({ canvas, viewport: dense, annotationMode: AnnotationMode.ENABLE });
    await f.render.promise;
    f.canvas.replaceWith(canvas);
    f.canvas = canvas;
    if (f.text.textContent === '') f.text.textContent = await textOf(page) || noText;
    f.element.dataset.drawn = 'true';
  }

  const drawSoon = (f) => draw(f).catch((error) => {
    if (isClosed || error?.name === 'RenderingCancelledException') return;
    f.element.dataset.drawn = 'failed';
    onFailed();
  });
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const f = frames.find((one) => one.element === entry.target);
      f.isNear = entry.isIntersecting;
      if (f.isNear) drawSoon(f);
    }
  }, { root: viewer, rootMargin: '600px 0px' });
  for (const f of frames) near.observe(f.element);
  // A first page that cannot be drawn is a document that cannot be shown.
  await draw(frames[0]);

  return {
    pages: pdf.numPages,
    scale: () => scale,
    /** Sets the zoom, a number or `fit`, and gives the scale that is shown. */
    zoom(next) {
      const room = viewer.clientWidth - 34;
      const wanted = next === 'fit' ? room / natural.width : next;
      scale = Math.min(4, Math.max(0.25, wanted));
      for (const f of frames) {
        resize(f, f.natural ?? natural, scale);
        if (f.isNear) drawSoon(f);
      }
      return scale;
    },
    close() {
      isClosed = true;
      near.disconnect();
      task.destroy();
    },
  };
}

function frame(number, of, pageLabel) {
  const element = document.createElement('section');
  element.className = 'page';
  element.setAttribute('aria-label', pageLabel(number, of));
  const canvas = document.createElement('canvas');
  canvas.setAttribute('aria-hidden', 'true');
  const text = document.createElement('p');
  text.className = 'visually-hidden';
  element.append(canvas, text);
  return { number, element, canvas, text, drawnAt: null, isNear: false, render: null, natural: null };
}

function resize(f, natural, scale) {
  f.natural = natural;
  for (const element of [f.element, f.canvas]) {
    element.style.width = `${Math.floor(natural.width * scale)}px`;
    element.style.height = `${Math.floor(natural.height * scale)}px`;
  }
}

/** The page's text in its own order, for screen readers. */
async function textOf(page) {
  const { items } = await page.getTextContent();
  return items.map((item) => item.str + (item.hasEOL ? '\n' : ' ')).join('').trim();
}
