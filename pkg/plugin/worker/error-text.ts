import { describeError } from '#pkg/apimachinery/index';

const maxLength = 2000;
const deepestCause = 2;
/** Characters that are left for where it was thrown. */
const longestPlace = 500;

/**
 * What was thrown, for people: `TypeError: x is not a function (index.ts:3:14)`, and its cause. Anything can be thrown,
 * and nothing of it is trusted to be what it seems.
 */
export function errorText(thrown: unknown): string {
  const text = textOf(thrown, 0);
  return text.length > maxLength ? `${text.slice(0, maxLength)}...` : text;
}

function textOf(thrown: unknown, depth: number): string {
  try {
    if (typeof thrown !== 'object' || thrown === null) return `it threw ${JSON.stringify(thrown) ?? typeof thrown}`;
    const { type, message, stack, cause, errors } = describeError(thrown, {
      message: maxLength - longestPlace,
      stack: 4 * maxLength,
    });
    if (typeof (thrown as { message?: unknown }).message !== 'string') return `it threw ${message}`;
    const [first] = errors ?? [];
    const under =
      depth < deepestCause
        ? [cause, first].flatMap((each) =>
            each === undefined
              ? []
              : [`; ${each === cause ? 'cause' : 'of several, the first'}: ${textOf(each, depth + 1)}`],
          )
        : [];
    return `${type ?? 'Error'}: ${named(message)}${stack === undefined ? '' : placeIn(stack)}${under.join('')}`;
  } catch {
    return 'it threw something that cannot be shown';
  }
}

/** The first frame that is the author's: not Node's, and not the SDK's. */
function placeIn(stack: string): string {
  for (const line of stack.split('\n')) {
    const place = /^\s+at (?:.*\()?(?:file:\/\/)?(\/.*:\d+:\d+)\)?$/.exec(line)?.[1];
    if (place !== undefined && !/\/sdk-[0-9a-f]{16}\//.test(place)) return ` (${place})`;
  }
  return '';
}

/** As the author wrote it: a plugin imports the SDK by the URL that it has at this host. */
function named(message: string): string {
  return message.replaceAll(/file:\/\/[^\s'"]*\/sdk-[0-9a-f]{16}\/sdk\.mjs/g, '@svc/sdk');
}
