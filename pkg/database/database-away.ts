import { types } from 'node:util';

const systemCode = /^(?:ECONN|EPIPE|ETIMEDOUT|ENOENT|ENOTFOUND|EHOSTUNREACH|ENETUNREACH|EAI_)/;
/** Of `pg` itself, which gives them no code. */
const lost = /^(?:Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect|timeout expired|Query read timeout|Client was closed|Cannot use a pool after calling end)/;

/** Of a user, a password, a database or a right: refused again, however often it is tried. */
const refused = /^(?:28|3D|42)/;

/** Did a statement fail because the database does not answer, or not in time, whatever was asked? Source: PostgreSQL's appendix A, error codes. */
export function isDatabaseAway(error: unknown): boolean {
  if (!types.isNativeError(error)) return false;
  const { code, severity } = error as { code?: unknown; severity?: unknown };
  if (typeof code !== 'string') return lost.test(error.message);
  if (systemCode.test(code)) return true;
  return severity !== undefined && (severity === 'FATAL' || severity === 'PANIC' || /^(?:08|53|57P|57014|55P03|40P01|25006)/.test(code));
}

/** Did a first connection fail for a reason that may pass: nobody there, starting up, no place left? */
export function isWorthAnotherTry(error: unknown): boolean {
  return isDatabaseAway(error) && !refused.test(String((error as { code?: unknown }).code));
}
