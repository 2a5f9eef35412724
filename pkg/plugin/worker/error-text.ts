import { describeError } from '#pkg/apimachinery/index';

const maxLength = 2000;
const maxCauseDepth = 2;
/** Characters that are reserved for the place of the throw. */
const maxPlaceLength = 500;

/**
 * Describes a thrown value: `TypeError: x is not a function (index.ts:3:14)`, and its cause. A plugin can throw
 * anything, so no property of it is trusted.
 */
export function errorText(thrown: unknown): string {
  const text = textOf(thrown, 0);
  return text.length > maxLength ? `${text.slice(0, maxLength)}...` : text;
}

function textOf(thrown: unknown, depth: number): string {
  try {
    if (typeof thrown !== 'object' || thrown === null) return `it threw ${JSON.stringify(thrown) ?? typeof thrown}`;
    const { type, message, stack, cause, errors } = describeError(thrown, {
      message: maxLength - maxPlaceLength,
      stack: 4 * maxLength,
    });
    if (typeof (thrown as { message?: unknown }).message !== 'string') return `it threw ${message}`;
    const [first] = errors ?? [];
    const under =
      depth < maxCauseDepth
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

/** The first stack frame in the author's code: not in Node or the SDK. */
function placeIn(stack: string): string {
  for (const line of stack.split('\n')) {
    const place = /^\s+at (?:.*\()?(?:file:\/\/)?(\/.*:\d+:\d+)\)?$/.exec(line)?.[1];
    if (place !== undefined && !/\/sdk-[0-9a-f]{16}\//.test(place)) return ` (${place})`;
  }
  return '';
}

/** Restores the author's name of the SDK, which a plugin imports by the host's URL. */
function named(message: string): string {
  return message.replaceAll(/file:\/\/[^\s'"]*\/sdk-[0-9a-f]{16}\/sdk\.mjs/g, '@svc/sdk');
}
