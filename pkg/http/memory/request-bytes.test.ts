import { expect, test } from '@jest/globals';
import { anonymousUser } from '#pkg/identity/index';
import { ByteBudget } from './byte-budget.ts';
import { CountedRequestBytes } from './request-bytes.ts';

test.each([
  { reason: 'one IPv6 network', clientAddress: '2001:db8::2', isShared: true },
  { reason: 'another one', clientAddress: '2001:db8:0:1::1', isShared: false },
])('anonymous clients share the limit of their network: $reason', async ({ clientAddress, isShared }) => {
  const budget = new ByteBudget({ total: 100, perUser: 20, parsed: 100, maxWaitMs: 0 });
  const bytesOf = (address: string): CountedRequestBytes =>
    new CountedRequestBytes(budget, {
      user: anonymousUser,
      clientAddress: address,
      signal: new AbortController().signal,
      waitedMs: 0,
    });
  await bytesOf('2001:db8::1').admit(20);
  const more = bytesOf(clientAddress).admit(20);
  if (isShared)
    await expect(more).rejects.toMatchObject({ code: 429, message: expect.stringContaining('of one user') });
  else await more;
});
