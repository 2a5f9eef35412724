import { isIPv4, isIPv6 } from 'node:net';
import { parseTimestamp } from '#pkg/apimachinery/index';

/** The supported formats, each checked in linear time; other formats are ignored. */
export const valueFormats: Readonly<Record<string, (text: string) => boolean>> = {
  'date-time': (text) => parseTimestamp(text) !== undefined,
  date: (text) => parseTimestamp(`${text}T00:00:00Z`) !== undefined,
  uuid: (text) => /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text),
  email: (text) => text.length <= 320 && /^[^\s@"<>()]+@[^\s@"<>()]+$/.test(text),
  uri: (text) => /^[A-Za-z][A-Za-z0-9+.-]*:/.test(text) && URL.canParse(text),
  ipv4: isIPv4,
  ipv6: (text) => !text.includes('%') && isIPv6(text),
};
