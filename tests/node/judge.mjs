// Reads {"schemas": […], "values": [[…], …]}; answers for each schema and value whether ajv and zod accept it.
import Ajv from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const asked = JSON.parse(readFileSync(0, "utf8"));
const ajv = new Ajv({ strict: false, multipleOfPrecision: 9 });
addFormats(ajv);
const answers = [];
for (const [index, schema] of asked.schemas.entries()) {
  const validate = ajv.compile(schema);
  const module = await import(pathToFileURL(`${process.cwd()}/schema${index}.mjs`));
  const zod = Object.values(module)[0];
  answers.push(asked.values[index].map((value) => [validate(value), zod.safeParse(value).success]));
}
process.stdout.write(JSON.stringify(answers));
