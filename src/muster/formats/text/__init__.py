"""Text -> plain values within bounds, and quantities as people write them.

document             a file in any of these formats, and all that is wrong with it as one error
yaml_text toml_text  YAML without its traps, and TOML
yaml_out             plain values written as YAML
units                amounts, durations and moments
ranges               several things in one word: `8..16`, `0-99%8`, `n[01-16]`
"""
