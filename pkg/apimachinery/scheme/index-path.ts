import { isPrototypeKey } from '../serializer/value-rules.ts';

/** One step of an index path: into a property, or into every item of a list. */
export type IndexPathSegment = { property: string } | { everyItem: true };

const maxPathLength = 1024;
const maxPathDepth = 20;
const plainProperty = /[^\s.[\]()'"*\\?@,]+/uy;
const quotedProperty = /\[(['"])((?:\\.|(?!\1)[^\\])*)\1\]/suy;

/**
 * Reads an index's path: properties joined by dots, `[*]` for every item of a list, `['a.b/c']` for a property whose
 * name needs quotes (there a backslash escapes the next character). A leading dot is allowed, as in paths of custom
 * resource definitions. At most 20 steps and 1024 characters. Returns the steps, or a description of the problem.
 */
export function parseIndexPath(path: string): { segments: IndexPathSegment[] } | { problem: string } {
  if (path.length > maxPathLength) return { problem: `a path has at most ${maxPathLength} characters` };
  if (/[\p{Cc}\p{Cs}]/u.test(path)) return { problem: 'a path may not hold control characters or unpaired surrogates' };
  const segments: IndexPathSegment[] = [];
  let position = 0;
  while (position < path.length) {
    if (segments.length === maxPathDepth) return { problem: `a path has at most ${maxPathDepth} steps` };
    const step = readStep(path, position, segments.length === 0);
    if (step === undefined)
      return { problem: `expected a property, '[*]' or ['property'] at character ${position + 1}` };
    if ('property' in step.segment && isPrototypeKey(step.segment.property)) {
      return { problem: `the property ${step.segment.property} cannot be part of a path` };
    }
    segments.push(step.segment);
    position = step.end;
  }
  const [first] = segments;
  if (first === undefined) return { problem: 'a path may not be empty' };
  return 'property' in first ? { segments } : { problem: 'a path starts with a property' };
}

function readStep(
  path: string,
  position: number,
  first: boolean,
): { segment: IndexPathSegment; end: number } | undefined {
  if (path.startsWith('[*]', position)) return { segment: { everyItem: true }, end: position + 3 };
  const quoted = matchAt(quotedProperty, path, position);
  if (quoted !== undefined)
    return { segment: { property: (quoted[2] ?? '').replace(/\\(.)/gsu, '$1') }, end: position + quoted[0].length };
  const dotted = path[position] === '.';
  if (!dotted && !first) return undefined;
  const start = dotted ? position + 1 : position;
  const plain = matchAt(plainProperty, path, start);
  return plain === undefined ? undefined : { segment: { property: plain[0] }, end: start + plain[0].length };
}

function matchAt(pattern: RegExp, text: string, position: number): RegExpExecArray | undefined {
  pattern.lastIndex = position;
  return pattern.exec(text) ?? undefined;
}
