import { formatDate, texts } from '../texts/texts.ts';

/** A moment, or never. */
export const timeText = (timestamp: string | null | undefined): string =>
  timestamp === null || timestamp === undefined ? texts.access.users.never : formatDate(timestamp);
