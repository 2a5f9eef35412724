/** Where this package writes its log lines; a pino logger fits. */
export interface DatabaseLog {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

/** Writes nothing. */
export const silentLog: DatabaseLog = { info: () => {}, warn: () => {}, error: () => {} };
