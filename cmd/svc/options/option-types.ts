import { parseLimit, parseMeasure } from '#pkg/apis/index';
import { isWebhookHost } from '#pkg/apiserver/index';
import { isAddressRange } from '#pkg/http/index';
import type { OptionType } from './option.ts';

const millisecondsOf: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const bytesOf: Readonly<Record<string, number>> = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4 };

export const text: OptionType<string> = {
  label: 'text',
  expected: 'a text',
  parse: (value) => (/\0/.test(value) ? undefined : value),
};

/** What `Authorization: Bearer` can carry, and nobody can guess. */
export const accessToken: OptionType<string> = {
  label: 'text',
  expected: 'a token of 16 to 512 letters, digits and -._~+/',
  parse: (value) => (/^[A-Za-z0-9._~+/-]{16,512}$/.test(value) ? value : undefined),
};

export const port: OptionType<number> = {
  ...integer({ min: 0, max: 65_535 }),
  label: 'port',
  expected: 'a port: a whole number from 0 to 65535, where 0 takes a free one',
};

export const trueOrFalse: OptionType<boolean> = {
  label: 'true|false',
  expected: 'true or false',
  parse: (value) => (value === 'true' ? true : value === 'false' ? false : undefined),
};

export function integer({ min, max }: { min: number; max: number }): OptionType<number> {
  return {
    label: 'number',
    expected: `a whole number from ${min} to ${max}`,
    parse: (value) => (/^\d{1,15}$/.test(value) ? within(Number(value), min, max) : undefined),
  };
}

/** One of a few words. */
export function enumOption<const W extends string>(...words: readonly W[]): OptionType<W> {
  return {
    label: words.join('|'),
    expected: `one of ${words.join(', ')}`,
    parse: (value) => words.find((word) => word === value),
  };
}

/** Milliseconds, written `500ms`, `30s`, `10m` or `1h`. The maximum is a week: timers are limited to 24 days. */
export function duration({ min = '1ms', max = '168h' }: { min?: string; max?: string } = {}): OptionType<number> {
  const [least, most] = [parseQuantity(min, millisecondsOf)!, parseQuantity(max, millisecondsOf)!];
  return {
    label: 'duration',
    expected: `a duration from ${min} to ${max}, such as 500ms, 30s, 10m or 1h`,
    parse: (value) => within(parseQuantity(value, millisecondsOf), least, most),
  };
}

/** Bytes, written as `512KiB`, `64MiB` or `1GiB`. */
export function size({ min, max }: { min: string; max: string }): OptionType<number> {
  const [least, most] = [parseQuantity(min, bytesOf)!, parseQuantity(max, bytesOf)!];
  return {
    label: 'size',
    expected: `a size from ${min} to ${max}, such as 512KiB, 64MiB or 1GiB`,
    parse: (value) => within(parseQuantity(value, bytesOf), least, most),
  };
}

/** Values separated by commas; a file may also use a list. */
export function listOf<T>(item: OptionType<T>): OptionType<readonly T[]> {
  return {
    label: 'list',
    expected: `a list, separated by commas, where each is ${item.expected}`,
    parse: (value) => {
      const parts = value
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== '');
      const items = parts.map((part) => item.parse(part));
      return items.includes(undefined) ? undefined : (items as T[]);
    },
  };
}

/** In the form that browsers send: scheme, host and port, nothing else; no wildcard. */
export const origin: OptionType<string> = {
  label: 'origin',
  expected: 'an origin, such as https://console.example.com',
  parse: (value) => (URL.canParse(value) && new URL(value).origin === value ? value : undefined),
};

/**
 * Without a path, because the service defines the paths. The value is the origin: lower case, no default port, no slash
 * at the end.
 */
export const serverUrlOption: OptionType<string> = {
  label: 'url',
  expected: 'the address of a server and nothing more, such as https://svc.example.com or http://10.0.0.1:8091',
  parse: (value) =>
    /^https?:\/\/[^/?#@\s\\]+\/?$/i.test(value) && URL.canParse(value) ? new URL(value).origin : undefined,
};

/** A limit in a quota, and its name. */
export const quotaLimit: OptionType<readonly [name: string, value: string]> = {
  label: 'limit',
  expected:
    'a limit of a quota: count/<plural>.<group>, bytes/<plural>.<group> or bytes, and a number, such as bytes=1Gi',
  parse: (value) => {
    const [, name = '', limit = ''] = /^([^=]+)=(.+)$/.exec(value) ?? [];
    return parseMeasure(name) === undefined || parseLimit(limit) === undefined ? undefined : [name, limit];
  },
};

export const webhookHost: OptionType<string> = {
  label: 'host',
  expected: 'a host, such as hooks.example.com, hooks.example.com:8443 or *.example.com',
  parse: (value) => (isWebhookHost(value) ? value : undefined),
};

export const addressRange: OptionType<string> = {
  label: 'range',
  expected: 'an address or a range of addresses, such as 10.0.0.0/8',
  parse: (value) => (isAddressRange(value) ? value : undefined),
};

function parseQuantity(value: string, units: Readonly<Record<string, number>>): number | undefined {
  const match = /^(\d{1,12})([A-Za-z]{1,3})$/.exec(value);
  const unit = match !== null && Object.hasOwn(units, match[2]!) ? units[match[2]!] : undefined;
  return unit === undefined ? undefined : Number(match![1]) * unit;
}

function within(value: number | undefined, min: number, max: number): number | undefined {
  return value !== undefined && value >= min && value <= max ? value : undefined;
}
