import { newServiceUnavailable } from '#pkg/apimachinery/index';

/**
 * Seals texts with a key of the installation. A purpose names the only place of a sealed text: it cannot be opened
 * anywhere else. Every failure is a StatusError.
 */
export interface Sealer {
  /** @throws StatusError 503 without a key */
  seal(text: string, purpose: string): string;
  /** @throws StatusError 503 without the key that sealed it, 500 if it was changed or sealed for another purpose */
  open(sealed: string, purpose: string): string;
  /** Was it sealed with the key that `seal` uses now? */
  isCurrent(sealed: string): boolean;
}

/** The sealer of a server without keys. */
export const noSealer: Sealer = {
  seal: () => {
    throw newNoKey();
  },
  open: () => {
    throw newNoKey();
  },
  isCurrent: () => false,
};

function newNoKey(): Error {
  return newServiceUnavailable('this server has no key to seal objects of this kind with');
}
