"""Case files of other tools: ATK JSON, TTK CSV, msopst JSON, dumps; one module a format."""
