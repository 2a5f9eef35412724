import { isJsonObject, type JsonValue } from '#pkg/apimachinery/index';
import type { VisitBudget } from './visit-budget.ts';

/** One step: from a value to values in it, in order. */
type Step = (value: JsonValue, budget: VisitBudget) => Iterable<JsonValue>;

/** A compiled JSONPath of a printer column. */
export type ColumnPath = readonly Step[];

/** Objects nest at most 100 levels. */
const maxSteps = 100;
const namePattern = /\.?((?:\\.|[^\s.,[\]{}$@'"\\])+)/suy;
/** Quotes hide brackets, and brackets nest once, as in `[?(@.list[0]=="a")]`. */
const bracketPattern = /\.?\[((?:[^[\]'"]|'[^']*'|"[^"]*"|\[[^[\]'"]*\])+)\]/suy;
const quotedPattern = /^(?:'([^']*)'|"([^"]*)")$/su;
const slicePattern = /^(-?\d{1,15})?:(-?\d{1,15})?(?::(\d{1,15}))?$/u;
const indexPattern = /^-?\d{1,15}$/u;
const filterPattern = /^\?\((.*)\)$/su;
const comparisonPattern = /^@([^!<>=]*)(==|!=|<=|>=|<|>)(.+)$/su;

/**
 * Compiles the JSONPath of a printer column: `.spec.title`, `.metadata.labels['a\.b/c']`, `.list[0]`, `.list[-1]`,
 * `.list[0:2]`, `.list[*].name`, `.conditions[?(@.type=="Ready")].status`, `..name`, `['a','b']`. Undefined for any
 * other text. Source: k8s.io/client-go/util/jsonpath.
 */
export function compileColumnPath(path: string): ColumnPath | undefined {
  if (path === '.') return [];
  return path.startsWith('.') ? compileSteps(path) : undefined;
}

/** The first value at the path; undefined if there is none, and when the budget is used up. */
export function firstValue(path: ColumnPath, value: JsonValue, budget: VisitBudget): JsonValue | undefined {
  return firstFrom(path, 0, value, budget);
}

function firstFrom(path: ColumnPath, at: number, value: JsonValue, budget: VisitBudget): JsonValue | undefined {
  const step = path[at];
  if (step === undefined) return value;
  for (const next of step(value, budget)) {
    if (!budget.spend()) return undefined;
    const found = firstFrom(path, at + 1, next, budget);
    if (found !== undefined) return found;
  }
  return undefined;
}

function compileSteps(path: string): ColumnPath | undefined {
  const steps: Step[] = [];
  let position = 0;
  while (position < path.length) {
    if (path.startsWith('..', position)) {
      steps.push(descendants);
      position += 1;
    }
    const bracket = matchAt(bracketPattern, path, position);
    const name = bracket ?? matchAt(namePattern, path, position);
    const step = bracket === undefined ? name && nameStep(name[1]!) : bracketStep(bracket[1]!);
    if (step === undefined || steps.length >= maxSteps) return undefined;
    steps.push(step);
    position += name![0].length;
  }
  return steps;
}

function nameStep(text: string): Step {
  return text === '*' ? children : propertyStep(unescape(text));
}

function bracketStep(content: string): Step | undefined {
  const text = content.trim();
  const filter = filterPattern.exec(text);
  if (filter !== null) return filterStep(filter[1]!.trim());
  const slice = slicePattern.exec(text);
  if (slice !== null) return sliceStep(slice);
  const members = splitUnion(text);
  if (members.length > maxSteps) return undefined;
  const steps = members.map(memberStep);
  if (!steps.every((step) => step !== undefined)) return undefined;
  return function* (value, budget) {
    for (const step of steps) {
      if (!budget.spend()) return;
      yield* step(value, budget);
    }
  };
}

function memberStep(text: string): Step | undefined {
  if (text === '*') return children;
  const quoted = quotedPattern.exec(text);
  if (quoted !== null) return propertyStep(unescape(quoted[1] ?? quoted[2] ?? ''));
  return indexPattern.test(text) ? indexStep(Number(text)) : undefined;
}

/** The comma in quotes separates nothing. */
function splitUnion(text: string): string[] {
  return (text.match(/(?:'[^']*'|"[^"]*"|[^,'"])+/gsu) ?? ['']).map((part) => part.trim());
}

function propertyStep(name: string): Step {
  return (value) => (isJsonObject(value) && Object.hasOwn(value, name) ? [value[name]!] : []);
}

function indexStep(index: number): Step {
  return (value) => {
    const item = Array.isArray(value) ? value.at(index) : undefined;
    return item === undefined ? [] : [item];
  };
}

function sliceStep([, start, end, step]: RegExpExecArray): Step {
  const from = start === undefined ? 0 : Number(start);
  const to = end === undefined ? undefined : Number(end);
  const by = step === undefined ? 1 : Number(step);
  return function* (value) {
    if (!Array.isArray(value) || by === 0) return;
    const last = to === undefined ? value.length : positionIn(value, to);
    for (let at = positionIn(value, from); at < last; at += by) yield value[at]!;
  };
}

/** A negative index counts from the end. */
function positionIn({ length }: readonly JsonValue[], index: number): number {
  return Math.min(length, index < 0 ? Math.max(0, length + index) : index);
}

function* children(value: JsonValue, budget: VisitBudget): Generator<JsonValue> {
  if (Array.isArray(value)) yield* value;
  else if (isJsonObject(value)) for (const name of budget.namesOf(value)) yield value[name]!;
}

/** The value itself and all lists and objects in it, outer ones first. */
function* descendants(value: JsonValue, budget: VisitBudget): Generator<JsonValue> {
  if (typeof value !== 'object' || value === null) return;
  yield value;
  for (const child of children(value, budget)) {
    if (!budget.spend()) return;
    yield* descendants(child, budget);
  }
}

type Comparable = string | number | boolean;
type Comparison = (left: Comparable, right: Comparable) => boolean;

const comparisons: Readonly<Record<string, Comparison>> = {
  '==': (left, right) => left === right,
  '!=': (left, right) => left !== right,
  '<': (left, right) => left < right,
  '<=': (left, right) => left <= right,
  '>': (left, right) => left > right,
  '>=': (left, right) => left >= right,
};

/** `@.type=="Ready"`, `@.a!=@.b`, or `@.a` for the items that have it. Values of different types never match. */
function filterStep(condition: string): Step | undefined {
  const [, left = condition.slice(1), operator, right] = comparisonPattern.exec(condition) ?? [];
  const isCondition = condition.startsWith('@') && (operator !== undefined || !/[!<>=]/u.test(condition));
  const leftPath = isCondition ? compileSteps(left.trim()) : undefined;
  if (leftPath === undefined) return undefined;
  const rightValue = operator === undefined ? undefined : operand(right!.trim());
  if (operator !== undefined && rightValue === undefined) return undefined;
  const matches = (item: JsonValue, budget: VisitBudget): boolean => {
    const found = firstValue(leftPath, item, budget);
    if (operator === undefined) return found !== undefined;
    const wanted = rightValue!(item, budget);
    return isComparable(found) && typeof found === typeof wanted && comparisons[operator]!(found, wanted as Comparable);
  };
  return function* (value, budget) {
    if (!Array.isArray(value)) return;
    for (const item of value) {
      if (!budget.spend()) return;
      if (matches(item, budget)) yield item;
    }
  };
}

function operand(text: string): ((item: JsonValue, budget: VisitBudget) => JsonValue | undefined) | undefined {
  if (text.startsWith('@')) {
    const path = compileSteps(text.slice(1));
    return path && ((item, budget) => firstValue(path, item, budget));
  }
  const quoted = quotedPattern.exec(text);
  if (quoted !== null) return () => quoted[1] ?? quoted[2];
  if (text === 'true' || text === 'false') return () => text === 'true';
  return /^-?\d+(?:\.\d+)?$/u.test(text) ? () => Number(text) : undefined;
}

function isComparable(value: JsonValue | undefined): value is Comparable {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

function unescape(text: string): string {
  return text.replaceAll(/\\(.)/gsu, '$1');
}

function matchAt(pattern: RegExp, text: string, position: number): RegExpExecArray | undefined {
  pattern.lastIndex = position;
  return pattern.exec(text) ?? undefined;
}
