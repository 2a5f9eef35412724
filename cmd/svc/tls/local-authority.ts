import { randomBytes, webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import type { KeyPair } from '#pkg/http/index';

const dayMs = 86_400_000;
/** Clients' clocks may be slow. Milliseconds. */
const backdateMs = 3_600_000;
const authorityDays = 3650;
const serverDays = 90;
const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const serverAuthentication = '1.3.6.1.5.5.7.3.1';

/** Creates an authority for one machine: clients with its certificate trust the server. PEM; the key is PKCS #8. */
export async function makeAuthority(): Promise<KeyPair> {
  const {
    BasicConstraintsExtension,
    KeyUsageFlags,
    KeyUsagesExtension,
    SubjectKeyIdentifierExtension,
    X509CertificateGenerator,
  } = await x509();
  const keys = await newKeys();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: newSerial(),
    name: `CN=svc local authority ${randomBytes(4).toString('hex')}`,
    ...validFor(authorityDays),
    keys,
    signingAlgorithm: algorithm,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { cert: certificate.toString('pem'), key: await pemOf(keys.privateKey) };
}

/**
 * Issues a server's certificate with a new key, for 90 days or until the authority expires. `names` are DNS names and
 * addresses. Throws if the authority is unusable.
 */
export async function issueCertificate(authority: KeyPair, names: readonly string[]): Promise<KeyPair> {
  const {
    AuthorityKeyIdentifierExtension,
    BasicConstraintsExtension,
    ExtendedKeyUsageExtension,
    KeyUsageFlags,
    KeyUsagesExtension,
    SubjectAlternativeNameExtension,
    X509Certificate,
    X509CertificateGenerator,
  } = await x509();
  const issuer = new X509Certificate(authority.cert);
  const { notBefore, notAfter } = validFor(serverDays);
  const keys = await newKeys();
  const certificate = await X509CertificateGenerator.create({
    serialNumber: newSerial(),
    subject: 'CN=svc',
    issuer: issuer.subject,
    notBefore,
    notAfter: notAfter < issuer.notAfter ? notAfter : issuer.notAfter,
    publicKey: keys.publicKey,
    signingKey: await webcrypto.subtle.importKey('pkcs8', derOf(authority.key), algorithm, false, ['sign']),
    signingAlgorithm: algorithm,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([serverAuthentication]),
      new SubjectAlternativeNameExtension(names.map((value) => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value }))),
      await AuthorityKeyIdentifierExtension.create(issuer),
    ],
  });
  return { cert: certificate.toString('pem'), key: await pemOf(keys.privateKey) };
}

/** Loaded only to create a certificate: it is large, and needs a global that nothing else here uses. */
async function x509(): Promise<typeof import('@peculiar/x509')> {
  await import('reflect-metadata');
  const library = await import('@peculiar/x509');
  library.cryptoProvider.set(webcrypto);
  return library;
}

function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
}

function validFor(days: number): { notBefore: Date; notAfter: Date } {
  const now = Date.now();
  return { notBefore: new Date(now - backdateMs), notAfter: new Date(now + days * dayMs) };
}

/** The first bit is 0, so the number is positive. */
function newSerial(): string {
  const bytes = randomBytes(16);
  bytes[0]! &= 0x7f;
  return bytes.toString('hex');
}

async function pemOf(key: webcrypto.CryptoKey): Promise<string> {
  const base64 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key)).toString('base64');
  return `-----BEGIN PRIVATE KEY-----\n${base64.replace(/.{64}(?=.)/g, '$&\n')}\n-----END PRIVATE KEY-----\n`;
}

function derOf(pem: string): Buffer {
  return Buffer.from(pem.replace(/-----[A-Z ]+-----/g, ''), 'base64');
}
