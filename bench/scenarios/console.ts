import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import type { BrowserContext, Page } from 'playwright-core';
import { buildConsole, isConsoleBuilt } from '../../hack/builds/build-console.mjs';
import { hasBrowser, startBrowser } from '../../pkg/access/pages/pagetest/browser.ts';
import type { ApiServer } from '../../test/system/harness/process/api-server.ts';
import { fill, type BenchRun } from '../bench-run.ts';
import type { Goal, Report } from '../report/report.ts';
import { quantile } from '../report/sample.ts';
import { definitionOf, group, modelOfSize, pathOf, type SampleModel } from '../sample-post.ts';
import { startServer } from '../server/bench-server.ts';

const dist = fileURLToPath(new URL('../../console/dist', import.meta.url));
const databaseName = 'console';
const coldRuns = 5;
const scrollFrames = 600;
const writesPerSecond = 20;
const writeSeconds = 20;
const formRuns = 5;
const formSections = 30;
const fieldsOfSection = 20;
const typedKeys = 20;
/** So high that 50 rows are visible. */
const viewport = { width: 1280, height: 2300 };

/**
 * The console in a browser on this machine: its size, its first rows, a list of the largest size, live changes, and a long
 * form.
 */
export async function benchConsole(run: BenchRun): Promise<void> {
  const { report, database, options } = run;
  if (!hasBrowser) {
    report.fact('the console', 'NOT MEASURED: there is no chromium');
    return;
  }
  if (!isConsoleBuilt()) await buildConsole();
  await database.create(databaseName);
  const api = await startServer({ database, databaseName, command: 'serve' });
  const browser = await startBrowser();
  try {
    const objects = options.sizes.at(-1)!;
    const model = modelOfSize(objects);
    await defineWithColumns(api, model);
    await fill({ ...run, api }, model, objects);
    const list = `http://127.0.0.1:${api.port}/console/g/${group}/${model.plural}`;
    await reportSize(report);
    const first = await browser.newContext({ viewport });
    const storageState = await logIn(first, api, list);
    await first.close();
    const cold: number[] = [];
    for (let at = 0; at < coldRuns; at += 1) {
      const context = await browser.newContext({ viewport, storageState });
      cold.push(await paintedMs(await openList(context, list)));
      await context.close();
    }
    report.goal(upTo('50 rows painted, cold', quantile(sorted(cold), 0.5), 600, 'ms'));
    const context = await browser.newContext({ viewport, storageState });
    const page = await openList(context, list);
    await paintedMs(page);
    const frames = await scrollThrough(page);
    report.goal(upTo(`p95 frame, scrolling through ${objects} rows`, quantile(sorted(frames), 0.95), 20, 'ms'));
    report.fact('the longest frame while scrolling', `${Math.max(...frames).toFixed(1)} ms`);
    report.goal(upTo(`memory held with ${objects} rows`, await heapMegabytes(context, page), 60, 'MB'));
    const delays = sorted(await writesToPixels(page, api, pathOf(model)));
    const rate = `at ${writesPerSecond} writes a second`;
    report.goal(upTo(`write to pixels ${rate}, p50`, quantile(delays, 0.5), 30, 'ms'));
    report.goal(upTo(`write to pixels ${rate}, p99`, quantile(delays, 0.99), 100, 'ms'));
    await page.close();
    await measureForm(run, api, await context.newPage());
  } finally {
    await browser.close();
    await api.stop();
  }
}

/** The model of lists, with what people would look at. */
async function defineWithColumns(api: ApiServer, model: SampleModel): Promise<void> {
  const definition = definitionOf(model) as { spec: { versions: object[] } };
  const additionalPrinterColumns = [
    { name: 'Title', type: 'string', jsonPath: '.spec.title' },
    { name: 'Category', type: 'string', jsonPath: '.spec.category' },
    { name: 'Priority', type: 'integer', jsonPath: '.spec.priority' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ];
  const versions = definition.spec.versions.map((version) => ({ ...version, additionalPrinterColumns }));
  await api.fetch('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    method: 'POST',
    body: JSON.stringify({ ...definition, spec: { ...definition.spec, versions } }),
  });
  await api.untilServed(`${pathOf(model)}?limit=1`);
}

/** What the browser loads before it shows the first page. */
async function reportSize(report: Report): Promise<void> {
  const html = await readFile(join(dist, 'index.html'), 'utf8');
  const scripts = new Set([...html.matchAll(/\/console\/(assets\/[^"]+\.js)"/g)].map(([, path]) => path!));
  let bytes = 0;
  for (const path of scripts) bytes += gzipSync(await readFile(join(dist, path)), { level: 9 }).length;
  report.goal(upTo('script of the first page, gzip', bytes / 1000, 150, 'kB'));
}

async function logIn(context: BrowserContext, api: ApiServer, list: string) {
  const password = await api.adminPassword();
  const page = await context.newPage();
  await page.goto(list);
  await page.getByLabel('Username').fill('admin');
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('grid').waitFor();
  return context.storageState();
}

/** A page that notes when 50 rows are on the screen. */
async function openList(context: BrowserContext, list: string): Promise<Page> {
  const page = await context.newPage();
  await page.addInitScript(`
    const look = () => {
      if (document.querySelectorAll('.grid-body [role=row] a').length < 50) return requestAnimationFrame(look);
      // The frame with the rows is painted when the next one begins.
      requestAnimationFrame(() => { globalThis.paintedMs = performance.now(); });
    };
    requestAnimationFrame(look);`);
  await page.goto(list);
  return page;
}

function paintedMs(page: Page): Promise<number> {
  return untilKnown(page, 'globalThis.paintedMs');
}

/** The page's policy forbids the driver's own way of waiting, which is `eval` in the page. */
function untilKnown(page: Page, expression: string): Promise<number> {
  return page.evaluate(`new Promise((resolve) => {
    const look = () => {
      const value = ${expression};
      if (value === undefined) requestAnimationFrame(look);
      else resolve(value);
    };
    look();
  })`);
}

/** Milliseconds of each frame from the first row to the last. */
function scrollThrough(page: Page): Promise<number[]> {
  return page.evaluate(`new Promise((resolve) => {
    const grid = document.querySelector('[role=grid]');
    const step = (grid.scrollHeight - grid.clientHeight) / ${scrollFrames};
    const frames = [];
    let before;
    const next = (now) => {
      if (before !== undefined) frames.push(now - before);
      before = now;
      if (frames.length === ${scrollFrames}) return resolve(frames);
      grid.scrollTop += step;
      requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
  })`);
}

async function heapMegabytes(context: BrowserContext, page: Page): Promise<number> {
  const session = await context.newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  await session.detach();
  return usedSize / 1e6;
}

/** Milliseconds from the answer of each write until its row, or a later one, is painted. */
async function writesToPixels(page: Page, api: ApiServer, path: string): Promise<number[]> {
  await page.evaluate(`(() => {
    document.querySelector('[role=grid]').scrollTop = 0;
    globalThis.seen = [];
    const note = () => {
      const numbers = [...document.querySelectorAll('.grid-body [role=gridcell]')]
        .flatMap(({ textContent }) => /^written (\\d+)$/.exec(textContent)?.[1] ?? []);
      const newest = Math.max(-1, ...numbers.map(Number));
      if (newest > (seen.at(-1)?.[0] ?? -1)) seen.push([newest, performance.timeOrigin + performance.now()]);
      requestAnimationFrame(note);
    };
    requestAnimationFrame(note);
  })()`);
  const name = await page.locator('.grid-body [role=row] a').first().innerText();
  const answered: number[] = [];
  const writes = writesPerSecond * writeSeconds;
  for (let at = 0; at < writes; at += 1) {
    const turn = new Promise((resolve) => {
      setTimeout(resolve, 1000 / writesPerSecond);
    });
    await api.fetch(`${path}/${name}`, {
      method: 'PATCH',
      headers: { 'Content-Type': 'application/merge-patch+json' },
      body: JSON.stringify({ spec: { title: `written ${at}` } }),
    });
    answered.push(performance.timeOrigin + performance.now());
    await turn;
  }
  await untilKnown(page, `seen.find(([newest]) => newest === ${writes - 1})`);
  const seen = (await page.evaluate('seen')) as [number, number][];
  return answered.map((ms, at) => Math.max(0, seen.find(([newest]) => newest >= at)![1] - ms));
}

/** A form of 600 fields that are all present: from the click that opens it to its first screen and to all of it; its keys. */
async function measureForm({ report }: BenchRun, api: ApiServer, page: Page): Promise<void> {
  const fields = formSections * fieldsOfSection;
  await createLongObject(api);
  const [opened, openedAtRest, whole, keys]: [number[], number[], number[], number[]] = [[], [], [], []];
  const open = async (): Promise<number> => {
    await page.evaluate(`(() => {
      const clicked = performance.now();
      [...document.querySelectorAll('.tabs a')].find(({ textContent }) => textContent === 'Form').click();
      const look = () => {
        const count = document.querySelectorAll('.schema-form input').length;
        // The frame with the fields is painted when the next one begins.
        if (count > 20) requestAnimationFrame(() => { globalThis.openedMs ??= performance.now() - clicked; });
        if (count > ${fields}) globalThis.wholeMs = performance.now() - clicked;
        else requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    })()`);
    return untilKnown(page, 'globalThis.openedMs');
  };
  for (let run = 0; run < formRuns; run += 1) {
    for (const isAtRest of [true, false]) {
      await page.goto(`http://127.0.0.1:${api.port}/console/g/${group}/longforms/-/long`);
      await page.getByRole('heading', { name: 'Metadata' }).waitFor();
      if (isAtRest) await untilReadAhead(page);
      (isAtRest ? openedAtRest : opened).push(await open());
    }
    whole.push(await untilKnown(page, 'globalThis.wholeMs'));
    keys.push(...(await keysToPixels(page)));
  }
  report.goal(upTo(`a form of ${fields} fields opens`, quantile(sorted(opened), 0.5), 100, 'ms'));
  report.fact('the same, once its page is at rest', `${quantile(sorted(openedAtRest), 0.5).toFixed(0)} ms`);
  report.fact('all of its fields are there', `${quantile(sorted(whole), 0.5).toFixed(0)} ms`);
  report.fact('a key in it to pixels, p50', `${quantile(sorted(keys), 0.5).toFixed(1)} ms`);
}

/** The schema is the last that a page of an object reads for its editor. */
async function untilReadAhead(page: Page): Promise<void> {
  await untilKnown(
    page,
    `performance.getEntriesByType('resource').find(({ name }) => name.includes('/openapi/v3/apis/'))?.responseEnd`,
  );
  await page.evaluate('new Promise((resolve) => { requestIdleCallback(() => resolve()); })');
}

async function createLongObject(api: ApiServer): Promise<void> {
  const objectOf = <T>(count: number, name: string, value: T): Record<string, T> =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`${name}${at}`, value]));
  const properties = objectOf(fieldsOfSection, 'field', { type: 'string', description: 'What it says.' });
  const spec = { type: 'object', properties: objectOf(formSections, 'section', { type: 'object', properties }) };
  await api.fetch('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    method: 'POST',
    body: JSON.stringify({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `longforms.${group}` },
      spec: {
        group,
        scope: 'Cluster',
        names: { plural: 'longforms', singular: 'longform', kind: 'LongForm' },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
          },
        ],
      },
    }),
  });
  const path = `/apis/${group}/v1/longforms`;
  await api.untilServed(`${path}?limit=1`);
  await api.fetch(path, {
    method: 'POST',
    body: JSON.stringify({
      apiVersion: `${group}/v1`,
      kind: 'LongForm',
      metadata: { name: 'long' },
      spec: objectOf(formSections, 'section', objectOf(fieldsOfSection, 'field', 'A text.')),
    }),
  });
}

/** Milliseconds from each key in a field of the form until the frame that shows it is painted. */
async function keysToPixels(page: Page): Promise<number[]> {
  await page.evaluate(`(() => {
    globalThis.keyTimes = [];
    const input = document.querySelector('.schema-form input:not([readonly])');
    input.focus();
    input.addEventListener('keydown', () => {
      const pressed = performance.now();
      requestAnimationFrame(() => setTimeout(() => keyTimes.push(performance.now() - pressed)));
    });
  })()`);
  for (let at = 0; at < typedKeys; at += 1) {
    await page.keyboard.press('x');
    await untilKnown(page, `keyTimes[${at}]`);
  }
  return (await page.evaluate('keyTimes')) as number[];
}

function upTo(goal: string, value: number, most: number, unit: string): Goal {
  return { goal, wanted: `at most ${most} ${unit}`, measured: `${value.toFixed(1)} ${unit}`, met: value <= most };
}

function sorted(values: readonly number[]): number[] {
  return values.toSorted((a, b) => a - b);
}
