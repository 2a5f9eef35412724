import type { AnyObject, IndexTypes, JsonObject, JsonValue, WhereSelection } from '@svc/client';
import type { IndexFact } from '../list/model-facts.ts';
import type { AnyResource } from '../server/model-info.ts';
import { formatTimeRange, texts } from '../texts/texts.ts';
import { CountedSelection, type CountedCondition } from './count-objects.ts';
import { numberRanges, timeRanges, type Range } from './ranges.ts';

export interface Bar {
  label: string;
  count: number;
  /** Of the index: the bar counts what meets it. */
  condition: CountedCondition;
}

/** An index of one value, and where the value is in an object. */
export interface PlottedIndex extends Pick<IndexFact, 'name' | 'type'> {
  path: readonly string[];
}

/** `tooMany`: no bars, because there are more values than are counted. */
export type Bars = { name: 'bars'; bars: readonly Bar[] } | { name: 'tooMany' };

/** The value and how often it is there. */
interface ValueCount {
  value: string;
  count: number;
}

/** More values of texts than that are not counted. */
export const maxValues = 50;
const maxBars = 20;
const concurrent = 4;

/** How many objects of a selection have which value: by value, or by range where there are many. @throws StatusError */
export async function readBars(
  resource: AnyResource,
  index: PlottedIndex,
  { selection, signal }: { selection: WhereSelection<IndexTypes>; signal: AbortSignal },
): Promise<Bars> {
  const counted = new CountedSelection(resource, selection, signal);
  const missing = await counted.count(index.name, { exists: false });
  const rest = missing === 0 ? [] : [{ label: texts.plots.missing, count: missing, condition: { exists: false } }];
  if (index.type === 'date') return bars(await timeBars(counted, index), rest);
  const isNumber = index.type === 'integer' || index.type === 'number';
  const values = await readValues(counted, index, isNumber ? maxBars : maxValues);
  if (values === undefined) return isNumber ? bars(await numberBars(counted, index), rest) : { name: 'tooMany' };
  const counts = await inTurns(values, async (value) => ({ value, count: await counted.count(index.name, value) }));
  return bars(isNumber ? counts.map(barOf) : mostFrequent(counts), rest);
}

function bars(found: readonly Bar[], rest: readonly Bar[]): Bars {
  return { name: 'bars', bars: [...found, ...rest] };
}

function barOf({ value, count }: ValueCount): Bar {
  return { label: value === '' ? texts.plots.empty : value, count, condition: value };
}

function mostFrequent(counts: readonly ValueCount[]): Bar[] {
  const sorted = counts.toSorted((a, b) => b.count - a.count);
  const others = sorted.slice(maxBars);
  if (others.length === 0) return sorted.map(barOf);
  const count = others.reduce((sum, each) => sum + each.count, 0);
  const shown = sorted.slice(0, maxBars);
  const condition = { exists: true, notIn: shown.map(({ value }) => value) };
  return [...shown.map(barOf), { label: texts.plots.others(others.length), count, condition }];
}

/** All different values in their order: each read is the first object after the value before. Undefined: too many. */
async function readValues(
  counted: CountedSelection,
  { name, path }: PlottedIndex,
  limit: number,
): Promise<string[] | undefined> {
  const values: string[] = [];
  for (;;) {
    const last = values.at(-1);
    const object = await counted.first(name, last === undefined ? { exists: true } : { gt: last });
    if (object === undefined) return values;
    if (values.length === limit) return undefined;
    values.push(valueOf(object, path));
  }
}

async function timeBars(counted: CountedSelection, { name, path }: PlottedIndex): Promise<Bar[]> {
  const ends = await endsOf(counted, name, path);
  if (ends === undefined) return [];
  const [min, max] = ends.map((text) => Date.parse(text)) as [number, number];
  const ranges = timeRanges(min, max);
  return rangeBars(counted, name, ranges, {
    text: (moment) => new Date(moment).toISOString(),
    label: ({ from, to }) => formatTimeRange(from, to),
  });
}

async function numberBars(counted: CountedSelection, { name, type, path }: PlottedIndex): Promise<Bar[]> {
  const ends = await endsOf(counted, name, path);
  if (ends === undefined) return [];
  const [min, max] = ends.map(Number) as [number, number];
  const isInteger = type === 'integer';
  return rangeBars(counted, name, numberRanges(min, max, { isInteger }), {
    text: String,
    label: ({ from, to }) => texts.plots.range(from, isInteger ? to - 1 : to),
  });
}

interface RangeTexts {
  /** As a selector has it. */
  text: (value: number) => string;
  label: (range: Range) => string;
}

function rangeBars(
  counted: CountedSelection,
  name: string,
  ranges: readonly Range[],
  { text, label }: RangeTexts,
): Promise<Bar[]> {
  return inTurns(ranges, async (range) => {
    const condition = { gte: text(range.from), lt: text(range.to) };
    return { label: label(range), count: await counted.count(name, condition), condition };
  });
}

/** The smallest and the largest value; undefined where no object has one. */
async function endsOf(
  counted: CountedSelection,
  name: string,
  path: readonly string[],
): Promise<[string, string] | undefined> {
  const found = await inTurns([name, `${name},desc`], (sort) => counted.first(sort, { exists: true }));
  const [first, last] = found.map((object) => (object === undefined ? undefined : valueOf(object, path)));
  return first === undefined || last === undefined ? undefined : [first, last];
}

function valueOf(object: AnyObject, path: readonly string[]): string {
  let value: JsonValue | undefined = object as unknown as JsonObject;
  for (const field of path) value = (value as JsonObject | undefined)?.[field];
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** A few at a time, answered in their order. */
async function inTurns<T, R>(all: readonly T[], work: (one: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const waiting = all.entries();
  const run = async (): Promise<void> => {
    for (const [at, one] of waiting) results[at] = await work(one);
  };
  await Promise.all(Array.from({ length: concurrent }, run));
  return results;
}
