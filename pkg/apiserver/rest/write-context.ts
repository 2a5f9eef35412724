import { systemMasters, type UserInfo } from '#pkg/identity/index';
import type { WriteContext } from './served-resource.ts';

/** Who the platform is when it writes on its own behalf. */
export const systemUser: UserInfo = { name: 'system:apiserver', uid: '', groups: [systemMasters] };

export function systemWrite(signal: AbortSignal): WriteContext {
  return { user: systemUser, dryRun: false, fieldValidation: 'Ignore', findings: [], warn: () => {}, signal };
}

export function withWarn(write: WriteContext, warn: (text: string) => void): WriteContext {
  return {
    ...withoutIdempotencyKey(write),
    warn,
    ...(write.memory === undefined ? {} : { memory: write.memory }),
    ...(write.idempotency === undefined ? {} : { idempotency: write.idempotency }),
  };
}

/** For a write within the request's own: without its idempotency key, and within the memory it has. */
export function withoutIdempotencyKey(write: WriteContext): WriteContext {
  const { user, dryRun, fieldValidation, findings, signal, requestId, fence } = write;
  return {
    user,
    dryRun,
    fieldValidation,
    findings,
    signal,
    ...(requestId === undefined ? {} : { requestId }),
    ...(fence === undefined ? {} : { fence }),
    warn: (text) => write.warn(text),
  };
}

/** A new attempt finds the same to warn of. */
export function warningOnce(write: WriteContext): WriteContext {
  const said = new Set<string>();
  const warn = (text: string): void => {
    if (said.has(text)) return;
    said.add(text);
    write.warn(text);
  };
  return withWarn(write, warn);
}
