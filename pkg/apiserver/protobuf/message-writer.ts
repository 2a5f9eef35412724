/** Writes the fields of one protobuf message. Source: protobuf.dev/programming-guides/encoding. */
export class MessageWriter {
  readonly #parts: Buffer[] = [];

  text(number: number, value: string): void {
    this.bytes(number, Buffer.from(value));
  }

  /** A field of bytes, or a message that is written already. */
  bytes(number: number, value: Buffer): void {
    this.#parts.push(fieldHead(number, value.length), value);
  }

  boolean(number: number, value: boolean): void {
    this.integer(number, Number(value));
  }

  /** A whole number from 0 to 2^53 - 1. */
  integer(number: number, value: number): void {
    this.#parts.push(Buffer.from([...varint(number * 8), ...varint(value)]));
  }

  double(number: number, value: number): void {
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleLE(value);
    this.#parts.push(Buffer.from(varint(number * 8 + 1)), bytes);
  }

  message(): Buffer {
    return Buffer.concat(this.#parts);
  }
}

/** What comes before the bytes of a field that has a length. */
export function fieldHead(number: number, length: number): Buffer {
  if (number < 16 && length < 0x80) return Buffer.from([number * 8 + 2, length]);
  return Buffer.from([...varint(number * 8 + 2), ...varint(length)]);
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) + 0x80);
  bytes.push(rest);
  return bytes;
}
