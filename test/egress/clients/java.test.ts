import { describe, expect } from "bun:test";
import { host, openWorld, refusedHost, testWith, type World } from "../../support/clients.ts";

const program = `
import java.net.*;
import java.net.http.*;

public class Probe {
  public static void main(String[] urls) throws Exception {
    for (String url : urls) {
      System.out.println("HttpURLConnection " + tried(() -> old(url)));
      System.out.println("HttpClient " + tried(() -> modern(url)));
    }
  }

  static String old(String url) throws Exception {
    HttpURLConnection connection = (HttpURLConnection) new URL(url).openConnection();
    int status = connection.getResponseCode();
    if (status != 200) return status + " " + connection.getHeaderField("X-Koda-Egress");
    return new String(connection.getInputStream().readAllBytes());
  }

  static String modern(String url) throws Exception {
    HttpRequest request = HttpRequest.newBuilder(URI.create(url)).build();
    HttpResponse<String> answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
    if (answer.statusCode() != 200) return answer.statusCode() + " " + answer.headers().firstValue("X-Koda-Egress").orElse("");
    return answer.body();
  }

  static String tried(java.util.concurrent.Callable<String> call) {
    try { return call.call(); } catch (Exception error) { return error.toString(); }
  }
}
`;

/** Java has a store of certificates of its own, which a user with an own authority has told of it. */
async function java(world: World, ...urls: string[]): Promise<string> {
  const source = world.place.write("Probe.java", program);
  const store = ["-keystore", "trusted.p12", "-storetype", "PKCS12", "-storepass", "changeit"];
  const imported = "keytool -importcert -noprompt -alias own -file".split(" ");
  const told = await world.run([...imported, world.caFile, ...store]);
  expect(told.exit, told.stderr).toBe(0);
  const trust = ["-Djavax.net.ssl.trustStore=trusted.p12", "-Djavax.net.ssl.trustStorePassword=changeit"];
  const { stdout, stderr } = await world.run(["java", ...trust, source, ...urls]);
  expect(stdout, stderr).not.toBe("");
  await world.run(["rm", "trusted.p12"]);
  return stdout;
}

describe("java's own clients", () => {
  const test = testWith("javac", "-version");

  test("reach what is allowed, plain and with TLS", async () => {
    await using world = await openWorld(() => new Response("hello"));
    const said = "HttpURLConnection hello\nHttpClient hello\n";
    expect(await java(world, world.http, world.https)).toBe(said + said);
    const asked = world.opened.requests.map(({ host, verdict }) => `${host} ${verdict}`);
    expect([...new Set(asked)]).toEqual([`${host} allowed`]);
  });

  test("are refused, and can read why of plain HTTP", async () => {
    await using world = await openWorld(() => new Response("hello"));
    const plain = await java(world, world.refusedHttp);
    expect(plain).toMatch(/^HttpURLConnection 403 refused\.test:\d+ is not on the allowlist/m);
    expect(plain).toMatch(/^HttpClient 403 refused\.test:\d+ is not on the allowlist/m);
    const secure = await java(world, world.refusedHttps);
    expect(secure).toMatch(/^HttpURLConnection java\.io\.IOException: Unable to tunnel through proxy.*403/m);
    expect(world.opened.requests.every((asked) => asked.host === refusedHost && asked.verdict === "refused")).toBe(
      true,
    );
  });
});
