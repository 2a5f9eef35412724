const maxLength = 2000;

/** What was thrown, for people: `TypeError: x is not a function (index.ts:3:14)`. Anything can be thrown, and nothing of it is trusted to be what it seems. */
export function errorText(thrown: unknown): string {
  try {
    if (typeof thrown !== 'object' || thrown === null) return cut(`it threw ${JSON.stringify(thrown) ?? typeof thrown}`);
    const { name, message, stack } = thrown as Record<string, unknown>;
    if (typeof message !== 'string') return cut(`it threw an object without a message: ${JSON.stringify(thrown) ?? ''}`);
    return cut(`${typeof name === 'string' ? name : 'Error'}: ${named(message)}${typeof stack === 'string' ? placeIn(stack) : ''}`);
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

function cut(text: string): string {
  return text.length > maxLength ? `${text.slice(0, maxLength)}...` : text;
}
