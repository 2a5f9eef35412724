import { newBadRequest, newTooManyValues, maxJsonValues } from '#pkg/apimachinery/index';

/** One field as it is written: its number, and its bytes or its value. */
export type WireField = { number: number; bytes: Buffer } | { number: number; value: number };

/** Counts the fields of one body, so that a short one cannot cost long work. */
export class FieldBudget {
  #left = maxJsonValues;

  /** @throws StatusError 413 */
  take(): void {
    this.#left -= 1;
    if (this.#left < 0) throw newTooManyValues();
  }
}

/**
 * The fields of a message that have a length or are whole numbers; others are skipped. A number is signed, of 64 bits.
 * Source: protobuf.dev/programming-guides/encoding. @throws StatusError 400 or 413
 */
export function* wireFieldsOf(bytes: Buffer, budget: FieldBudget): Generator<WireField> {
  const reader = new WireReader(bytes);
  while (!reader.isAtEnd) {
    budget.take();
    const tag = reader.varint();
    const number = Math.floor(tag / 8);
    switch (tag % 8) {
      case 0:
        yield { number, value: reader.varint() };
        break;
      case 1:
        reader.take(8);
        break;
      case 2:
        yield { number, bytes: reader.take(reader.varint()) };
        break;
      case 5:
        reader.take(4);
        break;
      default:
        throw newMalformed('a field in it is of an unknown type');
    }
  }
}

class WireReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  /** A number above 2^53 is rounded. */
  varint(): number {
    let value = 0;
    for (let length = 0; length < 10; length += 1) {
      const byte = this.#bytes[this.#at];
      if (byte === undefined) break;
      this.#at += 1;
      value += (byte & 0x7f) * 2 ** (7 * length);
      if (byte < 0x80) return length < 9 ? value : this.#negative();
    }
    throw newMalformed('a number in it does not end');
  }

  /** The ten bytes before the current place: only a number below 0, or above 2^63, takes so many. */
  #negative(): number {
    let value = 0n;
    for (let i = 0; i < 10; i += 1) value |= BigInt(this.#bytes[this.#at - 10 + i]! & 0x7f) << BigInt(7 * i);
    return Number(BigInt.asIntN(64, value));
  }

  take(length: number): Buffer {
    if (length < 0 || length > this.#bytes.length - this.#at) throw newMalformed('a field in it does not end');
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }
}

export function newMalformed(detail: string): Error {
  return newBadRequest(`the body of the request is no object in Kubernetes' protobuf: ${detail}`);
}
