/** The type of a file by its first bytes. */
type FileType = { type: "text" } | { type: "image"; mime: string } | { type: "binary"; name: string };

/** As much as git looks at before it calls a file binary. */
const sniffedBytes = 8000;

export function sniff(start: Uint8Array): FileType {
  const head = Buffer.from(start.subarray(0, sniffedBytes)).toString("latin1");
  const mime = images.find(({ magic }) => magic.test(head))?.mime;
  if (mime !== undefined) return { type: "image", mime };
  const name = formats.find(({ magic }) => magic.test(head))?.name;
  if (name !== undefined) return { type: "binary", name };
  return head.includes("\0") ? { type: "binary", name: "binary data" } : { type: "text" };
}

/* oxlint-disable no-control-regex -- bytes are what these are about */
const images = [
  { mime: "image/png", magic: /^\x89PNG\r\n\x1a\n/ },
  { mime: "image/jpeg", magic: /^\xff\xd8\xff/ },
  { mime: "image/gif", magic: /^GIF8[79]a/ },
  { mime: "image/webp", magic: /^RIFF[^]{4}WEBP/ },
];

/** Only formats that no text begins with: all others are known by their NUL bytes. */
const formats = [
  { name: "a BMP image", magic: /^BM[^]{4}\0{4}/ },
  { name: "a TIFF image", magic: /^(II\*\0|MM\0\*)/ },
  { name: "a HEIF or AVIF image", magic: /^[^]{4}ftyp(hei|hev|mif1|msf1|avi)/ },
  { name: "a PDF document", magic: /^%PDF-/ },
  { name: "a ZIP archive (or a format built on it)", magic: /^PK(\x03\x04|\x05\x06)/ },
  { name: "gzip data", magic: /^\x1f\x8b/ },
  { name: "xz data", magic: /^\xfd7zXZ\0/ },
  { name: "Zstandard data", magic: /^\x28\xb5\x2f\xfd/ },
  { name: "bzip2 data", magic: /^BZh[1-9]1AY&SY/ },
  { name: "a 7-Zip archive", magic: /^7z\xbc\xaf\x27\x1c/ },
  { name: "a tar archive", magic: /^[^]{257}ustar[\0 ]/ },
  { name: "an ELF binary", magic: /^\x7fELF/ },
  { name: "a Windows binary", magic: /^MZ[^]*\0/ },
  { name: "a Mach-O binary", magic: /^[\xce\xcf]\xfa\xed\xfe/ },
  { name: "a Java class or a universal Mach-O binary", magic: /^\xca\xfe\xba\xbe/ },
  { name: "a WebAssembly module", magic: /^\0asm/ },
  { name: "an SQLite database", magic: /^SQLite format 3\0/ },
  { name: "a font", magic: /^(wOF[F2]|\0\x01\0\0\0|OTTO\0)/ },
  { name: "sound or video", magic: /^(RIFF[^]{4}(WAVE|AVI )|[^]{4}ftyp|OggS\0|fLaC\0|ID3[\x02-\x04]\0)/ },
  { name: "UTF-16 text (iconv -f UTF-16 -t UTF-8 converts it)", magic: /^(\xff\xfe|\xfe\xff)/ },
];
