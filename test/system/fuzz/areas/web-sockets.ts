import type { SeededRandom } from '../../harness/seeded-random.ts';
import type { AttackArea } from '../fuzz-case.ts';
import { mutateBytes } from './hostile-text.ts';

const key = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==';
const legal = ['Host: fuzz', 'Authorization: Bearer $TOKEN', 'Connection: Upgrade', 'Upgrade: websocket'];
const version = 'Sec-WebSocket-Version: 13';
/** What may stand in a legal handshake. */
const harmless = [
  'Sec-WebSocket-Protocol: base64.binary.k8s.io',
  'Sec-WebSocket-Protocol: a, binary.k8s.io',
  'Sec-WebSocket-Protocol: v4.channel.k8s.io',
  'Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits',
  'Sec-WebSocket-Extensions: =;;,"',
  'Origin: http://fuzz',
  'Accept: application/json;as=Table;v=v1;g=meta.k8s.io',
  'Accept: */*;drop=metadata.managedFields',
];
const token = 'base64url.bearer.authorization.k8s.io.';
/** Each of these makes a handshake one that must be refused. */
const harmful = [
  'Sec-WebSocket-Key: abc',
  'Sec-WebSocket-Version: 8',
  'Sec-WebSocket-Version: 13, 13',
  'Sec-WebSocket-Protocol: a, a',
  'Sec-WebSocket-Protocol: ,',
  'Sec-WebSocket-Protocol: a b',
  `Sec-WebSocket-Protocol: ${Array.from({ length: 2000 }, (_, i) => `p${i}`).join(',')}`,
  `Sec-WebSocket-Protocol: ${token}`,
  `Sec-WebSocket-Protocol: ${token}YWJj, ${token}YWJk, a`,
  `Sec-WebSocket-Protocol: ${token}${'A'.repeat(20_000)}, a`,
  'Upgrade: h2c',
  'Content-Length: 5',
  'Transfer-Encoding: chunked',
  'Accept: text/event-stream',
  'Accept: application/yaml',
];
const searches = [
  'timeoutSeconds=1',
  'timeoutSeconds=1&allowWatchBookmarks=true',
  'labelSelector=lang%3Den',
  'limit=3',
];

/** A frame of a client; lengths may lie, and everything else may be wrong, too. */
function frame(random: SeededRandom): Buffer {
  const payload = random.one(
    () => Buffer.alloc(0),
    () => random.bytes(random.pick([1, 2, 10, 125])),
    () => Buffer.from([0x03, random.pick([0xe8, 0xe9, 0xeb, 0xed, 0xee, 0xf7]), ...Buffer.from('bye')]),
    () => Buffer.from('hello'),
    () => Buffer.alloc(random.pick([126, 1024, 1025, 70_000]), 'x'),
  );
  const opcode = random.pick([0, 1, 2, 8, 9, 9, 10, 3, 11, 15]);
  const flags = random.chance(0.8) ? 0x80 : random.pick([0, 0x40, 0x90, 0xa0, 0xf0]);
  const isMasked = random.chance(0.85);
  const told = random.chance(0.9) ? payload.length : random.pick([0, 125, 65_535, 2 ** 31, 2 ** 53, 2 ** 63]);
  const size = Buffer.alloc(told > 65_535 ? 9 : told > 125 ? 3 : 1);
  size[0] = told > 65_535 ? 127 : told > 125 ? 126 : told;
  if (size.length === 3) size.writeUInt16BE(told, 1);
  if (size.length === 9) size.writeBigUInt64BE(BigInt(told), 1);
  if (isMasked) size.writeUInt8(size.readUInt8(0) | 0x80);
  return Buffer.concat([Buffer.from([flags | opcode]), size, ...(isMasked ? [Buffer.alloc(4)] : []), payload]);
}

function frames(random: SeededRandom): Buffer {
  if (random.chance(0.1)) return Buffer.alloc(random.pick([600, 60_000, 600_000]), Buffer.from('898000000000', 'hex'));
  if (random.chance(0.05)) return Buffer.alloc(random.pick([600, 600_000]), Buffer.from('008000000000', 'hex'));
  const all = Buffer.concat(random.some(8, () => frame(random)));
  return random.chance(0.3) ? mutateBytes(random, all) : all;
}

/** Handshakes of WebSockets, legal and not, and any frames behind them. */
export const webSockets: AttackArea = {
  name: 'web sockets',
  weight: 3,
  generate(random, { posts, notes }) {
    const isLegal = random.chance(0.8);
    // Two of a kind might make a legal list.
    const extra = isLegal ? random.some(1, () => random.pick(harmless)) : [random.pick(harmful)];
    const headers = [...legal, key, version, ...extra];
    const target = `${random.pick([posts, notes])}?watch=true&${random.pick(searches)}`;
    const head = Buffer.from(`GET ${target} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`);
    return {
      changes: 'never',
      requests: [{ method: 'GET', target: '', headers: [], raw: [head, frames(random)], stream: true }],
      judge: ([answer]) => {
        if (answer === undefined || answer.status === 429) return undefined;
        if (isLegal) return answer.status === 101 ? undefined : `a legal handshake was answered ${answer.status}`;
        return answer.status >= 400 ? undefined : `a handshake that is not legal was answered ${answer.status}`;
      },
    };
  },
};
