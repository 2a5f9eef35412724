import { createRequire } from 'node:module';
import type * as PinoPretty from 'pino-pretty';

/** Some terminals interpret these as commands or as text direction; a client may have sent them. */
const misleading = /[\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const control = /[\u0000-\u0008\u000b-\u001f]/g;

/**
 * Formats a JSON log entry as readable text: time, level, message and the other fields on one line, an error on
 * several.
 */
export function prettyLine({ colors }: { colors: boolean }): (line: string) => string {
  // Loaded only here: it takes longer than the rest of a logger.
  const { prettyFactory } = createRequire(import.meta.url)('pino-pretty') as typeof PinoPretty;
  const format = prettyFactory({
    colorize: colors,
    singleLine: true,
    translateTime: 'SYS:HH:MM:ss.l',
    errorLikeObjectKeys: ['err'],
  });
  return (line) => {
    const { msg, err, ...fields } = JSON.parse(line) as { msg?: unknown; err?: unknown };
    const message = typeof msg === 'string' ? indented(visible(msg)) : '';
    const text = format({ ...fields, msg: message, ...(err === undefined ? {} : { err: withVisibleStack(err) }) });
    return `${text.trimEnd()}\n`.replaceAll(misleading, escaped);
  };
}

/** The further lines of a message must not look like separate entries. */
function indented(message: string): string {
  return message.replaceAll('\n', '\n    ');
}

/** Only stacks and the message are not printed as JSON. */
function withVisibleStack(error: unknown): unknown {
  if (typeof error !== 'object' || error === null) return error;
  const { stack, cause, ...rest } = error as { stack?: unknown; cause?: unknown };
  const shown = typeof stack === 'string' ? { stack: visible(stack) } : {};
  return { ...rest, ...shown, ...(cause === undefined ? {} : { cause: withVisibleStack(cause) }) };
}

function visible(text: string): string {
  return text.replaceAll(control, escaped).replaceAll(misleading, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
