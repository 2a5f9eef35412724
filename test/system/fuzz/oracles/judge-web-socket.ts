import { isUtf8 } from 'node:buffer';
import type { Answer } from '../../harness/wire/answer.ts';
import { violation, type Violation } from '../violation.ts';
import { judgeEvent } from './judge-success.ts';

const text = 0x1;
const close = 0x8;
const ping = 0x9;
const pong = 0xa;
const closeCodes: ReadonlySet<number> = new Set([1000, 1001, 1002, 1007, 1008, 1009]);

interface Frame {
  opcode: number;
  isFinal: boolean;
  payload: Buffer;
}

/**
 * What follows a 101: whole frames without a mask, each of them one event of a watch, a ping or a pong; at last a close
 * frame, with the code that the client sent or one of the server's.
 */
export function judgeWebSocket({ body, complete }: Answer): Violation | undefined {
  const { frames, problem } = readFrames(body);
  // A connection that the client has broken may end within a frame.
  if (problem !== undefined && (complete || problem !== halfFrame)) return violation('malformed answer', problem);
  for (const [at, { opcode, isFinal, payload }] of frames.entries()) {
    if (!isFinal) return violation('malformed answer', 'a message in pieces');
    if (opcode === text) {
      if (!isUtf8(payload)) return violation('malformed answer', 'a text message that is no UTF-8');
      const found = judgeEvent(payload.toString());
      if (found !== undefined) return found;
    } else if (opcode === close) {
      if (at !== frames.length - 1) return violation('malformed answer', 'a frame after the close frame');
      const code = payload.length < 2 ? 1000 : payload.readUInt16BE(0);
      if (code < 3000 && !closeCodes.has(code) && !echoed.has(code))
        return violation('malformed answer', `the close code ${code}`);
    } else if (opcode !== ping && opcode !== pong) {
      return violation('malformed answer', `a frame of the kind ${opcode}`);
    }
  }
  return undefined;
}

/** Codes that only a client begins with; the answer to a close frame repeats its code. */
const echoed: ReadonlySet<number> = new Set([1003, 1010, 1011, 1012, 1013, 1014]);

const halfFrame = 'half a frame';

/** The whole frames at the beginning, and why there are no more. */
function readFrames(bytes: Buffer): { frames: Frame[]; problem?: string } {
  const frames: Frame[] = [];
  for (let at = 0; at < bytes.length;) {
    if (bytes.length - at < 2) return { frames, problem: halfFrame };
    const first = bytes[at]!;
    const second = bytes[at + 1]!;
    if ((first & 0x70) !== 0) return { frames, problem: 'a frame with reserved bits' };
    if ((second & 0x80) !== 0) return { frames, problem: 'a frame with a mask' };
    const sizeBytes = second === 127 ? 8 : second === 126 ? 2 : 0;
    if (bytes.length - at < 2 + sizeBytes) return { frames, problem: halfFrame };
    const length =
      sizeBytes === 8 ? Number(bytes.readBigUInt64BE(at + 2)) : sizeBytes === 2 ? bytes.readUInt16BE(at + 2) : second;
    const start = at + 2 + sizeBytes;
    if (bytes.length - start < length) return { frames, problem: halfFrame };
    frames.push({
      opcode: first & 0x0f,
      isFinal: (first & 0x80) !== 0,
      payload: bytes.subarray(start, start + length),
    });
    at = start + length;
  }
  return { frames };
}
