import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { isStatusError } from '#pkg/apimachinery/index';
import { decodeProtobuf } from './decode-protobuf.ts';
import { reviewFields } from '../authorization/reviews/review-fields.ts';

const fields = reviewFields['SubjectAccessReview']!;
const magic = Buffer.from('k8s\0');

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) + 128);
  }
}

function field(number: number, content: Buffer | string): Buffer {
  const bytes = Buffer.from(content);
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
}

const envelope = (object: Buffer): Buffer =>
  Buffer.concat([
    magic,
    field(1, Buffer.concat([field(1, 'authorization.k8s.io/v1'), field(2, 'SubjectAccessReview')])),
    field(2, object),
  ]);
const typeMeta = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview' };
const extra = (key: string, ...items: string[]): Buffer =>
  field(5, Buffer.concat([field(1, key), field(2, Buffer.concat(items.map((item) => field(1, item))))]));

describe('reads', () => {
  test.each([
    ['nothing', Buffer.alloc(0), {}],
    [
      'strings, lists and maps',
      field(2, Buffer.concat([field(3, 'ada'), field(4, 'a'), field(4, 'b'), extra('k', 'v', 'w'), extra('empty')])),
      { spec: { user: 'ada', groups: ['a', 'b'], extra: { k: ['v', 'w'], empty: [] } } },
    ],
    ['an empty string as absent', field(2, Buffer.concat([field(3, ''), field(6, 'u')])), { spec: { uid: 'u' } }],
    [
      'unknown fields are skipped',
      Buffer.concat([
        field(9, 'x'),
        Buffer.from([0x50, 0xff, 0x01]),
        Buffer.from([0x5d, 1, 2, 3, 4]),
        Buffer.from([0x61, 1, 2, 3, 4, 5, 6, 7, 8]),
        field(2, field(3, 'ada')),
      ]),
      { spec: { user: 'ada' } },
    ],
    [
      'no prototype keys',
      field(2, Buffer.concat([extra('__proto__', 'x'), extra('k', 'v')])),
      { spec: { extra: { k: ['v'] } } },
    ],
  ])('%s', (_reason, object, expected) => {
    expect(decodeProtobuf(envelope(object), fields)).toEqual({ ...typeMeta, ...expected });
  });
});

describe('refuses', () => {
  test.each([
    ['what is none', Buffer.from('{}'), 'it does not begin as such'],
    ['a truncated field', Buffer.concat([magic, Buffer.from([0x12, 0x05, 1])]), 'a field in it does not end'],
    ['a truncated number', Buffer.concat([magic, Buffer.alloc(11, 0xff)]), 'a number in it does not end'],
    ['a group', Buffer.concat([magic, Buffer.from([0x0b])]), 'a field in it is of an unknown type'],
    ['invalid UTF-8', envelope(field(2, field(3, Buffer.from([0xc3, 0x28])))), 'a text in it is not UTF-8'],
    ['U+0000', envelope(field(2, field(3, 'a\0b'))), 'a text in it holds U+0000'],
  ])('%s', (_reason, bytes, detail) => {
    expect(() => decodeProtobuf(bytes, fields)).toThrow(
      `the body of the request is no object in Kubernetes' protobuf: ${detail}`,
    );
  });
});

test('any bytes give an object or a 400', () => {
  const piece = fc.oneof(
    fc.uint8Array({ maxLength: 6 }),
    fc.constantFrom(field(3, 'ada'), field(4, ''), extra('k', 'v'), Buffer.from([0x12, 0x7f])),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 6 }), fc.boolean(), (pieces, isWhole) => {
      const bytes = Buffer.concat(pieces.map((each) => Buffer.from(each)));
      try {
        expect(
          decodeProtobuf(isWhole ? envelope(field(2, bytes)) : Buffer.concat([magic, bytes]), fields),
        ).toBeInstanceOf(Object);
      } catch (error) {
        if (!isStatusError(error, 'BadRequest')) throw error;
      }
    }),
    { numRuns: 2000 },
  );
});
