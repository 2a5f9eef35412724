/** Where this wing writes its log lines; a pino logger fits. */
export interface Log {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

/** Says nothing. */
export const silentLog: Log = { info: () => {}, warn: () => {}, error: () => {} };
