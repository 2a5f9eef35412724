import type { AccessRequest } from '../http/access-request.ts';
import type { Credential } from '../http/credential.ts';
import { readDraftSignature } from './draft-signature.ts';
import { namesAccessKey, readMessageSignature } from './message-signature.ts';
import type { SignedMessage } from './signed-message.ts';
import type { SignatureVerifier } from './signature-verifier.ts';

/**
 * The two ways to sign a request with an access key: `Authorization: Signature ...` of draft-cavage, and the headers of
 * RFC 9421. The latter count as presented if there is a `Signature-Input`; next to an Authorization header, whatever
 * its value, only if one of them names an access key, as proxies sign requests too. If both are sent, both must be of
 * the same user.
 */
export function signatureCredentials(verifier: Pick<SignatureVerifier, 'verify'>): Credential[] {
  return [
    {
      scheme: 'signature',
      authorizationScheme: 'signature',
      challenge: 'Signature realm="api",headers="(request-target) date"',
      authenticate: async (request) => {
        const credentials = /^signature(?:$|\s+(.*))/i.exec(request.header('authorization').trim());
        if (credentials === null) return undefined;
        return verifier.verify(readDraftSignature(credentials[1] ?? '', messageOf(request)), request);
      },
    },
    {
      scheme: 'signature',
      authenticate: async (request) => {
        const { headers } = request.context.request;
        if (headers['signature-input'] === undefined) return undefined;
        const message = messageOf(request);
        if (headers.authorization !== undefined && !namesAccessKey(message)) return undefined;
        return verifier.verify(readMessageSignature(message), request);
      },
    },
  ];
}

function messageOf({ method, target, origin, context }: AccessRequest): SignedMessage {
  return { method, target, origin, rawHeaders: context.request.rawHeaders };
}
