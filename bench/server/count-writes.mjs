// Preloaded into a server: reports how many event texts it wrote to watchers, and how many of them were different.
import { ServerResponse } from 'node:http';

const write = Reflect.get(ServerResponse.prototype, 'write');
let writes = 0;
let made = 0;
let seen = new WeakSet();

/** Events are written as buffers; the same buffer means that the event was encoded once. */
ServerResponse.prototype.write = function countedWrite(chunk, ...rest) {
  if (Buffer.isBuffer(chunk)) {
    writes += 1;
    if (!seen.has(chunk)) {
      seen.add(chunk);
      made += 1;
    }
  }
  return Reflect.apply(write, this, [chunk, ...rest]);
};

process.on('message', (message) => {
  if (message === 'begin') {
    writes = 0;
    made = 0;
    seen = new WeakSet();
  }
  process.send({ writes, made });
});
process.channel.unref();
