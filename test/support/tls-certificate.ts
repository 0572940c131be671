/** Certificates made on the spot (RFC 5280, in DER): no key lies in the repository, and none grows old there. */
import { generateKeyPairSync, type KeyObject, randomBytes, sign, X509Certificate } from 'node:crypto';

/** A key, and the certificate that says whose it is: both as PEM, as `node:tls` takes them. */
export interface ServerCertificate {
  readonly key: string;
  readonly cert: string;
}

/** A certificate authority. */
export interface Authority extends ServerCertificate {
  /** A certificate for a server, valid from yesterday until tomorrow unless it says otherwise. */
  issue(name: SubjectName, validity?: Validity): ServerCertificate;
}

/** Who a certificate is for: an IPv4 address or a host's name. */
export type SubjectName = { readonly address: string } | { readonly host: string };

/** From when until when a certificate holds, in days from now. */
export interface Validity {
  readonly fromDay: number;
  readonly toDay: number;
}

const aroundToday: Validity = { fromDay: -1, toDay: 1 };

/** A new authority, which is not trusted yet. */
export function newAuthority(): Authority {
  const { privateKey, publicKey } = newKeys();
  const own = { commonName: 'listctl test authority', publicKey, validity: aroundToday };
  const cert = certificate({ ...own, issuer: own.commonName, signer: privateKey, extensions: [isAuthority] });
  return {
    key: pem(privateKey),
    cert,
    issue: (name, validity = aroundToday) => {
      const keys = newKeys();
      const commonName = 'host' in name ? name.host : name.address;
      const extensions = [subjectNames(name)];
      const subject = { commonName, publicKey: keys.publicKey, validity, extensions };
      return {
        key: pem(keys.privateKey),
        cert: certificate({ ...subject, issuer: own.commonName, signer: privateKey }),
      };
    },
  };
}

/** A certificate that vouches for itself. */
export function selfSigned(name: SubjectName): ServerCertificate {
  const { privateKey, publicKey } = newKeys();
  const commonName = 'listctl test itself';
  const own = { commonName, publicKey, issuer: commonName, signer: privateKey, validity: aroundToday };
  return { key: pem(privateKey), cert: certificate({ ...own, extensions: [subjectNames(name)] }) };
}

interface Subject {
  readonly commonName: string;
  readonly publicKey: KeyObject;
  readonly issuer: string;
  readonly signer: KeyObject;
  readonly validity: Validity;
  readonly extensions: readonly Buffer[];
}

function certificate({ commonName, publicKey, issuer, signer, validity, extensions }: Subject): string {
  const algorithm = sequence(objectId('2a8648ce3d040302')); // ecdsa-with-SHA256
  const serial = Buffer.concat([Buffer.from([1]), randomBytes(8)]);
  const toSign = sequence(
    tagged(0xa0, tagged(0x02, Buffer.from([2]))), // version 3
    tagged(0x02, serial),
    algorithm,
    distinguishedName(issuer),
    sequence(time(validity.fromDay), time(validity.toDay)),
    distinguishedName(commonName),
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(...extensions)),
  );
  const signature = tagged(0x03, Buffer.concat([Buffer.from([0]), sign('sha256', toSign, signer)]));
  return new X509Certificate(sequence(toSign, algorithm, signature)).toString();
}

const isAuthority = sequence(
  objectId('551d13'), // basicConstraints
  tagged(0x01, Buffer.from([0xff])), // critical
  tagged(0x04, sequence(tagged(0x01, Buffer.from([0xff])))),
);

function subjectNames(name: SubjectName): Buffer {
  const value =
    'host' in name
      ? tagged(0x82, Buffer.from(name.host))
      : tagged(0x87, Buffer.from(name.address.split('.').map(Number)));
  return sequence(objectId('551d11'), tagged(0x04, sequence(value)));
}

function distinguishedName(commonName: string): Buffer {
  return sequence(tagged(0x31, sequence(objectId('550403'), tagged(0x0c, Buffer.from(commonName)))));
}

function time(day: number): Buffer {
  const text = new Date(Date.now() + day * 86_400_000).toISOString().replace(/[-:T]|\.\d+/g, '');
  return tagged(0x18, Buffer.from(text)); // GeneralizedTime
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(parts));
}

function objectId(hex: string): Buffer {
  return tagged(0x06, Buffer.from(hex, 'hex'));
}

/** A value with its tag and its length, as DER writes them. */
function tagged(tag: number, value: Buffer): Buffer {
  const { length } = value;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), value]);
}

function newKeys() {
  return generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
}

function pem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }) as string;
}
