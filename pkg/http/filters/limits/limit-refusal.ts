import { newTooManyRequests, type StatusError } from '#pkg/apimachinery/index';

export type RefusedBy =
  | 'total'
  | 'system'
  | 'bulk'
  | 'user'
  | 'user_bulk'
  | 'user_system'
  | 'address'
  | 'strangers'
  | 'wrong_credentials'
  | 'watches'
  | 'user_watches'
  | 'metrics'
  | 'senders'
  | 'address_senders';

export interface LimitRefusal {
  error: StatusError;
  body: Buffer;
}

/** The 429 of each limit. Created once: under overload creating an error costs more than the rest of the answer. */
export const refusals: Readonly<Record<RefusedBy, LimitRefusal>> = {
  total: newRefusal('too many requests, please try again later'),
  system: newRefusal('too many requests of controllers and for leases, please try again later'),
  bulk: newRefusal('too many large lists and bodies, please try again later'),
  user_bulk: newRefusal('too many large lists and bodies of one user, please try again later'),
  user_system: newRefusal('too many requests of one user for leases, please try again later'),
  user: newRefusal('too many requests of one user, please try again later'),
  address: newRefusal('too many requests of one address, please try again later'),
  strangers: newRefusal('too many requests without a known credential, please try again later'),
  wrong_credentials: newRefusal('too many wrong credentials of one address, please try again later'),
  watches: newRefusal('too many watches, please try again later'),
  user_watches: newRefusal('too many watches of one user, please try again later'),
  metrics: newRefusal('too many readers of metrics, please try again later'),
  senders: newRefusal('too many bodies of requests are on their way, please try again later'),
  address_senders: newRefusal('too many bodies of requests of one address are on their way, please try again later'),
};

function newRefusal(message: string): LimitRefusal {
  const error = newTooManyRequests(message);
  return { error, body: Buffer.from(JSON.stringify(error.toStatus())) };
}
